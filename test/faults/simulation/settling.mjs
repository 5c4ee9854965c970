// Waits for the promises of a round. None may stay unsettled, and each error must have a type.
import { FabricError } from 'libfabric';

/** ms after the timeout of an operation within which its promise must settle, also on a busy machine. */
const SETTLE_LIMIT = 20_000;

const isTyped = (error) =>
  FabricError.is(error) ||
  ['AbortError', 'TimeoutError'].includes(error?.name) ||
  /^ERR_/.test(error?.code ?? '');

/**
 * The outcome of one side of an operation: `{ id, side, code }` if it failed, `{ bytes }` if it was checked and right,
 * `{ problem }` if the package has failed.
 *
 * @param work returns the number of bytes that it checked, or throws a Wrong
 */
export async function outcomeOf(id, side, timeout, work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Wrong('never settles')), timeout + SETTLE_LIMIT);
  });
  try {
    return { id, side, ...(await Promise.race([work(), late])) };
  } catch (error) {
    if (error instanceof Wrong) return { id, side, problem: error.message };
    if (!isTyped(error)) return { id, side, problem: `an error without a type: ${error?.stack}` };
    return { id, side, code: error.code ?? error.name, message: error.message };
  } finally {
    clearTimeout(timer);
  }
}

/** Rejects if a promise without a timeout of its own takes longer. */
export async function within(timeout, promise, text) {
  let timer;
  const late = new Promise((_, reject) => {
    const error = Object.assign(new Error(text), { code: 'ERR_LATE' });
    timer = setTimeout(() => reject(error), timeout);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** The package has failed. */
export class Wrong extends Error {}

export function check(right, text) {
  if (!right) throw new Wrong(text);
}
