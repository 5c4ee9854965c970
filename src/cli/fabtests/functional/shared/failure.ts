import { errnoByCode } from '../../../../base/error-codes.js';
import { FabricError } from '../../../../base/errors.js';
import { PeerGone } from '../../common/oob.js';
import { DataCheckError } from '../../common/pattern.js';

/** A difference between the expected and the actual behaviour. */
export class TestFailure extends Error {
  override readonly name = 'CheckFailure';
  readonly expected: string;
  readonly found: string;
  /** Where to look for the cause. */
  readonly lookAt: string;
  /** The exit code, as in fabtests. */
  readonly errno: number;

  constructor(expected: string, found: string, lookAt: string, errno: number = errnoByCode.FI_EIO) {
    super(`expected ${expected}; found ${found}. Check ${lookAt}.`);
    this.expected = expected;
    this.found = found;
    this.lookAt = lookAt;
    this.errno = errno;
  }
}

/** Why a provider, or fabtests as the peer, does not support the test. */
export class NotOffered extends Error {
  override readonly name = 'NotOffered';
  readonly errno = errnoByCode.FI_EOPNOTSUPP;
}

/** Awaits a promise. `what` names it in the message of a failure. */
export async function awaiting<T>(what: string, promise: Promise<T>, lookAt?: string): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof PeerGone) {
      const hint = "the peer's output, and whether both have the same options";
      const found = error.message.replace(/(; check that it runs.*|\.)$/, '');
      throw new TestFailure(what, `that ${found}`, lookAt ?? hint, errnoByCode.FI_ETIMEDOUT);
    }
    if (FabricError.is(error)) {
      const hint = error.hint ?? `the provider: FI_LOG_LEVEL=warn shows more`;
      const found = error.message.replace(`; ${error.hint}`, '');
      throw new TestFailure(what, found, lookAt ?? hint, error.errno);
    }
    if (isSystemError(error)) {
      const lookAt = "the peer's output, and the network between the sides";
      throw new TestFailure(
        what,
        error.message,
        lookAt,
        Math.abs(error.errno ?? errnoByCode.FI_ETIMEDOUT),
      );
    }
    throw error;
  }
}

// An error of the out-of-band connection.
const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error;

/** Throws a TestFailure if data differs from what the peer sent. */
export function verify(what: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof DataCheckError)) throw error;
    throw new TestFailure(
      `the pattern in ${what}`,
      error.message,
      'whether both sides have -v; otherwise check the provider: it delivers other bytes than were sent',
    );
  }
}
