/** The bytes of a Presence. */
export const PRESENCE_LENGTH = 10;
// A peer may send any number, and the rounds of this side must stay below 2 ** 32.
const MAX_ROUND = 2 ** 31;

/**
 * What an engine tells the others about itself in the barriers of a group. Each barrier has a round, counted from 1. The round
 * of a call is one more than the number of barriers that the engine has passed, so a call that has failed takes no round.
 */
export interface Presence {
  /** Counts what the engine tells. A newer one replaces an older one, in whatever order they arrive. */
  readonly version: number;
  /** The last round that the engine has passed or waits for. */
  readonly round: number;
}

export function bytesOf({ version, round }: Presence): Buffer {
  const bytes = Buffer.alloc(PRESENCE_LENGTH);
  bytes.writeUIntLE(version, 0, 6);
  bytes.writeUInt32LE(round, 6);
  return bytes;
}

/** Undefined for values that no engine sends. */
export function presenceOf(bytes: Uint8Array): Presence | undefined {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const presence = { version: view.readUIntLE(0, 6), round: view.readUInt32LE(6) };
  return presence.version > 0 && presence.round <= MAX_ROUND ? presence : undefined;
}
