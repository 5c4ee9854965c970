import { types } from 'node:util';
import { ended, hasEnd } from './ends.js';
import { invalidArgType } from './errors.js';

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
  if (hasEnd(given)) await ended(given);
  else await ended(reason);
}
