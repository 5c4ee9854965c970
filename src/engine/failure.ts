import { FabricError } from '../errors.js';

/** What is known of an operation that failed. */
export interface Failure {
  readonly errno: number;
  readonly syscall: string;
  /** The provider's words, or ours. */
  readonly text: string;
  readonly provErrno: number;
  /** What usually helps. */
  readonly hint?: string;
}

export function errorOf(failure: Failure): FabricError {
  const { errno, syscall, text, provErrno, hint } = failure;
  const words = provErrno === 0 ? { detail: text } : { provErrno, provMessage: text };
  const details = hint ? { ...words, hint } : words;
  return new FabricError(errno, syscall || 'libfabric', details, errorOf);
}

/**
 * A promise that rejects with the failure's error, made so that its stack names whoever awaits the
 * operation. V8 follows the promises that wait for the one whose reaction is running, so the error
 * is created one step after the operation's promise has begun to wait for this one.
 */
export async function rejectLater(failure: Failure): Promise<never> {
  await null;
  await null;
  throw errorOf(failure);
}
