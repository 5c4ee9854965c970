import { checkInteger, checkOptions, MAX_MILLISECONDS } from '../checks.js';
import { invalidArgType } from '../errors.js';

/** How long what is in flight has when something is closed. */
export interface CloseOptions {
  /**
   * Milliseconds that posted operations have to complete; 1000 when left out. Then they fail with
   * FI_ECANCELED.
   */
  readonly timeout?: number;
  /** Ends that time early. */
  readonly signal?: AbortSignal;
}

/** @internal The options of a close(), checked and read once. */
export interface Patience {
  readonly timeout: number;
  readonly signal?: AbortSignal;
}

/** @internal */
export function checkPatience(options: CloseOptions): Patience {
  const { timeout = 1000, signal } = checkOptions('options', options);
  checkInteger('options.timeout', timeout, 0, MAX_MILLISECONDS);
  if (signal === undefined) return { timeout };
  if (!(signal instanceof AbortSignal)) {
    throw invalidArgType('options.signal', 'an AbortSignal', signal);
  }
  return signal.aborted ? { timeout: 0 } : { timeout, signal };
}
