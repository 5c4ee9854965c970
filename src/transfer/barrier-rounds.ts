/** The bytes of Reached. */
export const ROUND_LENGTH = 12;
// A peer may send any numbers, and this side's must stay below 2 ** 32.
const MAX_ROUND = 2 ** 31;

/**
 * How far an engine is in the barriers of a group. Each call has a round: the next number. Calls of which one has failed, for
 * example by a timeout, must not keep the engines apart: all go on in the round of the next call.
 */
export class Reached {
  /** The round of the last call. */
  round = 0;
  /** The last round that has passed. */
  passed = 0;
  /** The first round after the last call that has failed. */
  since = 0;

  /** A call in this round has ended. Returns whether it has failed, if the peers do not know that yet. */
  ended(round: number): boolean {
    if (round <= this.passed || round < this.since) return false;
    this.since = round + 1;
    return true;
  }

  /** Whether a call in this round has failed, so that the engine will not pass this round. */
  hasGivenUp(round: number): boolean {
    return this.passed < round && round < this.since;
  }

  merge(other: Reached): void {
    this.round = Math.max(this.round, other.round);
    this.passed = Math.max(this.passed, other.passed);
    this.since = Math.max(this.since, other.since);
  }

  bytes(): Buffer {
    const bytes = Buffer.alloc(ROUND_LENGTH);
    for (const [i, value] of [this.round, this.passed, this.since].entries()) {
      bytes.writeUInt32LE(value, 4 * i);
    }
    return bytes;
  }

  /** Undefined for values that no engine sends. */
  static of(bytes: Uint8Array): Reached | undefined {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const reached = new Reached();
    reached.round = view.getUint32(0, true);
    reached.passed = view.getUint32(4, true);
    reached.since = view.getUint32(8, true);
    const { round, passed, since } = reached;
    return round > 0 && round <= MAX_ROUND && passed <= round && since <= round + 1
      ? reached
      : undefined;
  }
}
