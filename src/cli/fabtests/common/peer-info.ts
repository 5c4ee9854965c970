// Two sides of this package exchange this information behind their addresses. fabtests read the
// address and ignore the bytes that follow it.

/** The minimum room that fabtests have for a message with an address. */
export const CONTROL_BYTES = 256;

/** What a side of this package reports to its peer about itself. */
export interface PeerInfo {
  /** Release of the fabtests whose dialect it prefers: `'1.17'`. */
  readonly release: string;
  /** TCP port of the server's PeerListener; 0 if there is none. */
  readonly port: number;
  /** With it a client connects to the PeerListener. */
  readonly token: bigint;
  /** Bytes of the message that contains it: the peer may assume another release. */
  readonly messageBytes: number;
}

const MAGIC = Buffer.from('npm:libfabric/2\0');
const LENGTH = 32; // the magic, two numbers of the release, the port, the message's length, the token
const AT = CONTROL_BYTES - LENGTH;

/** A message with an address, and this information at the end of its first 256 bytes. */
export function encodeAddress(address: Uint8Array, info: PeerInfo): Buffer {
  if (address.length > AT) throw new RangeError(`an address of ${address.length} bytes`);
  const message = Buffer.alloc(info.messageBytes);
  message.set(address);
  message.set(MAGIC, AT);
  const [major = 0, minor = 0] = info.release.split('.').map(Number);
  message.writeUInt16LE(major, AT + 16);
  message.writeUInt16LE(minor, AT + 18);
  message.writeUInt16LE(info.port, AT + 20);
  message.writeUInt16LE(info.messageBytes, AT + 22);
  message.writeBigUInt64LE(info.token, AT + 24);
  return message;
}

/** The information in a control message; undefined if fabtests sent the message. */
export function peerInfoIn(message: Uint8Array): PeerInfo | undefined {
  if (message.length < CONTROL_BYTES) return undefined;
  const bytes = Buffer.from(message.buffer, message.byteOffset + AT, LENGTH);
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  return {
    release: `${bytes.readUInt16LE(16)}.${bytes.readUInt16LE(18)}`,
    port: bytes.readUInt16LE(20),
    messageBytes: bytes.readUInt16LE(22),
    token: bytes.readBigUInt64LE(24),
  };
}
