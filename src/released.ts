import { types } from 'node:util';
import { invalidArgType } from './errors.js';

// When the memory is free again of what a promise stood for, or an error or an abort's reason told of.
const ends = new WeakMap<object, Set<Promise<unknown>>>();

/** Whoever holds `key` can learn that `end` has come. */
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

/** When that has come; undefined where nothing was given up. */
export const endOf = (key: object): Promise<void> | undefined =>
  ends.has(key) ? ended(key) : undefined;

async function ended(key: unknown): Promise<void> {
  if ((typeof key !== 'object' && typeof key !== 'function') || key === null) return;
  for (let left = ends.get(key); left !== undefined && left.size > 0; ) {
    await Promise.allSettled(left);
  }
}

/**
 * Resolves when the memory of an operation is free again. An operation that was given up (aborted, or
 * overdue) may go on to use its buffers: a send, RMA or atomic that was posted can't be recalled.
 *
 * @param given what the call returned, a promise that waits for it, or what it rejected with: an
 * error, or the reason of a signal. A reason concerns all operations that the signal has ended, and
 * so this resolves when all of them are done. A reason that is no object concerns none.
 *
 * It resolves as well when the domain closes; it never rejects. With the manual
 * driver, somebody must turn the engine meanwhile.
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
