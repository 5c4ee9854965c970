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
