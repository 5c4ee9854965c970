import { checkAnySignal } from '../base/abort-signals.js';
import { checkMilliseconds, checkOptions, namesOf } from '../base/checks.js';

/** How long close() waits for operations in flight. */
export interface CloseOptions {
  /**
   * Milliseconds that posted operations have to complete. If omitted, 1000. Then they fail with
   * FI_ECANCELED.
   */
  readonly timeout?: number;
  /** Ends the wait early. */
  readonly signal?: AbortSignal;
}

const NAMES = namesOf<CloseOptions>({ timeout: 1, signal: 1 });

/** @internal The checked options of close(). */
export interface CheckedCloseOptions {
  readonly timeout: number;
  readonly signal?: AbortSignal;
}

/** @internal */
export function checkCloseOptions(options: CloseOptions): CheckedCloseOptions {
  const { timeout = 1000, signal: given } = checkOptions('options', options, NAMES);
  checkMilliseconds('options.timeout', timeout);
  const signal = checkAnySignal(given);
  if (signal === undefined) return { timeout };
  return signal.aborted ? { timeout: 0 } : { timeout, signal };
}
