import { asCancellation } from '../base/cancellation.js';
import { describeErrno, errnoByCode } from '../base/error-codes.js';
import { FabricError, type FabricErrorDetails } from '../base/errors.js';

/** The error of a transfer or an offer. */
export class TransferError extends FabricError {
  /**
   * Whether some bytes may have been transferred. If false, the memory of both sides is unchanged.
   */
  readonly ambiguous: boolean;

  constructor(errno: number, ambiguous: boolean, details: FabricErrorDetails) {
    super(errno, 'transfer', details, TransferError);
    this.ambiguous = ambiguous;
  }
}

export const errnoOf = (code: keyof typeof errnoByCode): number => errnoByCode[code] as number;

// The codes of what is open with a peer, by what has ended it. docs/transfer.md has the table.
const CODES = {
  /** The peer is lost, its engine was closed, or its entry in the directory has ended. */
  lost: 'FI_ECONNRESET',
  /** The peer has ended it, and lives. */
  aborted: 'FI_ECONNABORTED',
  /** The offer has ended. */
  rejected: 'FI_EKEYREJECTED',
  /** It took too long. */
  expired: 'FI_ETIMEDOUT',
  /** This program has ended it. */
  closed: 'FI_ECANCELED',
} as const;

const HINTS = new Map<number, string>([
  [
    errnoOf(CODES.lost),
    "begin again when remote.state is 'connected', or with the address of the peer's new engine",
  ],
  [errnoOf(CODES.rejected), 'ask the peer for another offer'],
]);

/** The error of what the native side has ended, with a hint if its code has one. */
export const failureWith = (errno: number, detail: string | undefined, ambiguous: boolean) =>
  new TransferError(errno, ambiguous, { detail, hint: HINTS.get(errno) });

/** The error of what is open with a peer, by what has ended it. */
export const endedBy = (cause: keyof typeof CODES, detail: string, ambiguous: boolean) =>
  failureWith(errnoOf(CODES[cause]), detail, ambiguous);

/** The error for a transfer whose offer has ended. */
export const offerEnded = () =>
  endedBy(
    'rejected',
    'the offer was closed or has expired, or its token was already used for its one transfer',
    false,
  );

/** The error for what is open with a peer that is lost. */
export const peerLost = (reason: string, ambiguous: boolean) =>
  endedBy('lost', `the peer is lost: ${reason}`, ambiguous);

/** Why a peer is lost that says that its engine closes. */
export const ENGINE_CLOSED = 'its engine was closed';

/** The error for an offer whose transfer the peer has ended with this status. */
export const endedByPeer = (status: number) =>
  status === errnoOf('FI_ESHUTDOWN')
    ? peerLost(ENGINE_CLOSED, true)
    : endedBy(
        'aborted',
        `the peer has ended the transfer with ${describeErrno(status).code}`,
        true,
      );

/** The error for what waits for a peer that the program closes. */
export const peerClosed = (detail: string, ambiguous: boolean) =>
  asCancellation(endedBy('closed', detail, ambiguous));

/** The error for everything that waits when the engine is closed. */
export const engineClosed = () =>
  asCancellation(endedBy('closed', 'the transfer engine was closed', true));
