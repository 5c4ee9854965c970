import { types } from 'node:util';
import { invalidArgType } from './errors.js';

// The promises that resolve when the memory of an operation is free again, by the operation's
// promise, its error or its abort reason.
const ends = new WeakMap<object, Set<Promise<unknown>>>();

/** Lets the holder of `key` wait for `end`. */
export function endsWith(key: unknown, end: Promise<unknown>): void {
  if ((typeof key !== 'object' && typeof key !== 'function') || key === null) return;
  const known = ends.get(key);
  if (known !== undefined) known.add(end);
  else ends.set(key, new Set([end]));
  const forget = () => {
    ends.get(key)?.delete(end);
  };
  end.then(forget, forget);
}

/** Resolves when all ends of `key` have come. Undefined if the key has none. */
export const endOf = (key: object): Promise<void> | undefined =>
  ends.has(key) ? ended(key) : undefined;

async function ended(key: unknown): Promise<void> {
  if ((typeof key !== 'object' && typeof key !== 'function') || key === null) return;
  for (let ending = ends.get(key); ending !== undefined && ending.size > 0; ) {
    await Promise.allSettled(ending);
  }
}

/**
 * Resolves when the memory of an operation is free again. After an abort or a timeout, an operation
 * may still use its buffers: a posted send, RMA or atomic operation cannot be cancelled.
 *
 * @param given the promise that the call returned, a promise that waits for it, or what it rejected
 * with: an error, or the reason of a signal. A reason stands for all operations that the signal
 * aborted: released() resolves when all of them are done. A reason that is not an object stands for
 * none.
 *
 * The promise also resolves when the domain closes. It never rejects for an operation's failure.
 * With the manual driver, the caller must turn the engine meanwhile.
 *
 * @throws TypeError ERR_INVALID_ARG_TYPE if `given` is not an object.
 */
export async function released(given: unknown): Promise<void> {
  if ((typeof given !== 'object' && typeof given !== 'function') || given === null) {
    throw invalidArgType('given', "an operation's promise, or what it rejected with", given);
  }
  if (!types.isPromise(given)) return ended(given);
  let reason: unknown;
  await given.catch((error) => {
    reason = error;
  });
  if (ends.has(given)) await ended(given);
  else await ended(reason);
}
