import { asCancellation } from '../base/cancellation.js';
import { errnoByCode } from '../base/error-codes.js';
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

/** The error for a transfer whose offer has ended. */
export const offerEnded = () =>
  new TransferError(errnoOf('FI_EKEYREJECTED'), false, {
    detail:
      'the offer was closed or has expired, or its token was already used for its one transfer',
    hint: 'ask the peer for another offer',
  });

/** The hint of errors with the code FI_ECONNRESET. */
export const LOST_HINT =
  "begin again when remote.state is 'connected', or with the address of the peer's new engine";

/** The error for what is open with a peer that is lost. */
export const peerLost = (reason: string, ambiguous: boolean) =>
  new TransferError(errnoOf('FI_ECONNRESET'), ambiguous, {
    detail: `the peer is lost: ${reason}`,
    hint: LOST_HINT,
  });

/** The error for what waits for a peer that the program closes. */
export const peerClosed = (detail: string, ambiguous: boolean) =>
  asCancellation(new TransferError(errnoOf('FI_ECANCELED'), ambiguous, { detail }));

const CLOSED = 'the transfer engine was closed';

/** The error for everything that waits when the engine is closed. */
export const engineClosed = () =>
  asCancellation(new TransferError(errnoOf('FI_ECANCELED'), true, { detail: CLOSED }));
