import { checkSignal, offAbort, onAbort, reasonOf } from './abort-signals.js';
import { checkMilliseconds, checkNames, checkObject, namesOf } from './checks.js';
import { errnoByCode } from './error-codes.js';
import { FabricError } from './errors.js';
import { TimeLimit } from './time-limit.js';

/** How long a call may wait. */
export interface WaitOptions {
  /** Ends the wait. The call rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Milliseconds until the call rejects with FI_ETIMEDOUT. If omitted, the call has no timeout. */
  readonly timeout?: number;
}

const NAMES = namesOf<WaitOptions>({ signal: 1, timeout: 1 });

/** The options of a wait, checked and read once. */
export interface Wait {
  readonly signal: AbortSignal | undefined;
  readonly timeout: number | undefined;
  /** Whether the timer lets the process exit, because something else may keep it alive. */
  readonly unref?: boolean;
}

/** Checks the options of a wait. `names` are all members that the options of the call may have. */
export function checkWait(
  options: WaitOptions | undefined,
  names: readonly string[] = NAMES,
): Wait {
  const { signal, timeout } = checkObject('options', options);
  checkNames('options', options ?? {}, names);
  return { signal: checkSignal(signal), timeout: checkTimeout(timeout) };
}

export function checkTimeout(timeout: unknown): number | undefined {
  return timeout === undefined ? undefined : checkMilliseconds('options.timeout', timeout);
}

/** The text of the error of a call that has exceeded its timeout. */
export const notCompletedAfter = (milliseconds: number): string =>
  `not completed after ${milliseconds} ms`;

/** The error of a call that has exceeded its timeout. */
export function timedOut(syscall: string, milliseconds: number): FabricError {
  const detail = notCompletedAfter(milliseconds);
  return new FabricError(errnoByCode.FI_ETIMEDOUT, syscall, { detail }, timedOut);
}

/**
 * Settles as the promise does, unless the wait ends first. The underlying operation continues then.
 *
 * @param syscall the name of the call, for the error.
 */
export async function within<T>(promise: Promise<T>, wait: Wait, syscall: string): Promise<T> {
  const { signal, timeout } = wait;
  if (signal === undefined && timeout === undefined) return promise;
  promise.catch(() => {}); // it may reject after the end of the wait
  if (signal?.aborted) throw reasonOf(signal);
  let limit: TimeLimit | undefined;
  let leave = () => {};
  const end = new Promise<never>((_, reject) => {
    if (signal !== undefined) {
      leave = () => reject(reasonOf(signal));
      onAbort(signal, leave);
    }
    if (timeout !== undefined) {
      limit = new TimeLimit(timeout, () => reject(timedOut(syscall, timeout)));
      if (wait.unref) limit.unref();
    }
  });
  try {
    return await Promise.race([promise, end]);
  } finally {
    limit?.clear();
    if (signal !== undefined) offAbort(signal, leave);
  }
}
