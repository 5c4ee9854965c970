// A call that close() cancels has not failed. Its promise rejects, but never as an unhandled rejection, because the
// program that closes an object may no longer await the promise.

const cancellations = new WeakSet<object>();
const nothing = () => {};

/** Marks an error as that of a call which close() has cancelled. */
export function asCancellation<E extends Error>(error: E): E {
  cancellations.add(error);
  return error;
}

/** Whether an error is that of a call which close() has cancelled. */
export const isCancellation = (error: unknown): boolean => cancellations.has(error as object);

/** Lets a promise count as handled: its rejection does not end the process. */
export function countAsHandled(promise: Promise<unknown>): void {
  promise.catch(nothing);
}

/**
 * Makes a call that waits for others. Its promise counts as handled if close() cancels the call. For
 * the promise of an operation, rejectLater() does the same.
 */
export function cancellable<T>(call: () => Promise<T>): Promise<T> {
  const promise: Promise<T> = call().catch((error) => {
    if (isCancellation(error)) countAsHandled(promise);
    throw error;
  });
  return promise;
}
