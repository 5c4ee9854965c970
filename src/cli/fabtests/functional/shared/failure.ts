import { errnoByCode } from '../../../../error-codes.js';
import { FabricError } from '../../../../errors.js';
import { PeerGone } from '../../common/oob.js';
import { DataCheckError } from '../../common/pattern.js';

/** What a test has found to be otherwise than it should be. */
export class TestFailure extends Error {
  override readonly name = 'CheckFailure';
  readonly expected: string;
  readonly found: string;
  /** What to look at. */
  readonly lookAt: string;
  /** The exit code, as fabtests have it. */
  readonly errno: number;

  constructor(expected: string, found: string, lookAt: string, errno: number = errnoByCode.FI_EIO) {
    super(`expected ${expected}; found ${found}. Look at ${lookAt}.`);
    this.expected = expected;
    this.found = found;
    this.lookAt = lookAt;
    this.errno = errno;
  }
}

/** What a provider, or fabtests at the other side, cannot do: the reason. */
export class NotOffered extends Error {
  override readonly name = 'NotOffered';
  readonly errno = errnoByCode.FI_EOPNOTSUPP;
}

/** Awaits something by its name, which a failure then has. */
export async function awaiting<T>(what: string, promise: Promise<T>, lookAt?: string): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof PeerGone) {
      const hint = 'what the other side says, and whether both have the same options';
      const found = error.message.replace(/(; is it there.*|\.)$/, '');
      throw new TestFailure(what, `that ${found}`, lookAt ?? hint, errnoByCode.FI_ETIMEDOUT);
    }
    if (FabricError.is(error)) {
      const hint = error.hint ?? `the provider: FI_LOG_LEVEL=warn tells more`;
      const found = error.message.replace(`; ${error.hint}`, '');
      throw new TestFailure(what, found, lookAt ?? hint, error.errno);
    }
    if (isSystemError(error)) {
      const lookAt = 'what the other side says, and the network between the sides';
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

// Of the connection beside the fabric.
const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error;

/** Throws a failure where data is not what the other side has sent. */
export function verify(what: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof DataCheckError)) throw error;
    throw new TestFailure(
      `the pattern in ${what}`,
      error.message,
      'whether both sides have -v, and else at the provider: it delivers other bytes than were sent',
    );
  }
}
