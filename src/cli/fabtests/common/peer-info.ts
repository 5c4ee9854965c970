// What two sides of this package tell each other behind their addresses. fabtests take the address
// and leave alone what follows it, so nobody is bothered who does not know it.

/** What fabtests have room for when a message with an address comes, at least. */
export const CONTROL_BYTES = 256;

/** What a side of this package tells its peer about itself. */
export interface PeerInfo {
  /** Release of the fabtests whose dialect it would speak, `'1.17'`. */
  readonly release: string;
  /** TCP port of the server's PeerListener; 0: none. */
  readonly port: number;
  /** Bytes of the message that has it: the other side may take the sender for another release. */
  readonly messageBytes: number;
}

const MAGIC = Buffer.from('npm:libfabric/1\0');
const LENGTH = 24; // the magic, two numbers of the release, the port, the message's length
const AT = CONTROL_BYTES - LENGTH;

/** An address, with this information at the end of the first 256 bytes of the message. */
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
  return message;
}

/** The information in a control message; undefined if fabtests sent it. */
export function peerInfoIn(message: Uint8Array): PeerInfo | undefined {
  if (message.length < CONTROL_BYTES) return undefined;
  const bytes = Buffer.from(message.buffer, message.byteOffset + AT, LENGTH);
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  return {
    release: `${bytes.readUInt16LE(16)}.${bytes.readUInt16LE(18)}`,
    port: bytes.readUInt16LE(20),
    messageBytes: bytes.readUInt16LE(22),
  };
}
