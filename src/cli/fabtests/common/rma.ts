// Shared by fabtests' RMA tests: memory access, keys and remote CQ data.
import type { MrAccess } from '../../../base/flags.js';
import type { RegionDescription, RemoteRegion } from '../../../memory/remote-region.js';
import type { Buffers } from './buffers.js';
import type { Session } from './session.js';

/** The access that fabtests grant to their memory. */
export const RMA_ACCESS: readonly MrAccess[] = [
  'FI_SEND',
  'FI_RECV',
  'FI_READ',
  'FI_WRITE',
  'FI_REMOTE_READ',
  'FI_REMOTE_WRITE',
];

const REMOTE_DATA = 0x0123_4567_89ab_cdefn;

/** The remote CQ data that fabtests send, cut to the size that the provider carries. */
export function remoteData({ ep }: Session): bigint {
  return BigInt.asUintN(Math.min(ep.limits.remoteData, 8) * 8, REMOTE_DATA);
}

// struct fi_rma_iov, little-endian: address, length, key.
const BYTES = 24;

/** A region's address and key in fabtests' format. */
export function encodeKeys(region: RegionDescription): Buffer {
  const bytes = Buffer.alloc(BYTES);
  bytes.writeBigUInt64LE(region.address, 0);
  bytes.writeBigUInt64LE(BigInt(region.length), 8);
  bytes.writeBigUInt64LE(region.key, 16);
  return bytes;
}

/** Reads the peer's region. fabtests do not set its length, so `length` replaces it. */
export function decodeKeys(bytes: Uint8Array, length: number): RegionDescription {
  if (bytes.length < BYTES) throw new Error(`keys of ${bytes.length} bytes, not ${BYTES}`);
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, BYTES);
  return { address: buffer.readBigUInt64LE(0), length, key: buffer.readBigUInt64LE(16) };
}

/** Exchanges the addresses and keys of both sides' regions: ft_exchange_keys(). */
export async function exchangeKeys(session: Session, buffers: Buffers): Promise<RemoteRegion> {
  const { region } = buffers;
  session.postReceive();
  await session.send(encodeKeys(region));
  const remote = decodeKeys(await session.receive(), region.length);
  await session.sync();
  return session.domain.remote(remote);
}
