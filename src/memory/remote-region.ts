import { check64, checkBytes, checkInteger } from '../base/checks.js';
import { uncloneable } from '../base/describe.js';
import { invalidArgValue } from '../base/errors.js';
import { isRevoked } from '../base/objects.js';
import { native } from '../contract/native.js';
import type { Engine } from '../engine/engine.js';

const UNCLONEABLE = uncloneable(
  'a RemoteRegion belongs to its domain: send its { key, address, length }, for domain.remote()',
);

// The wire format of a descriptor, little-endian: 4 bytes of magic, 1 of version, 3 of 0, then key,
// address and length, 8 bytes each.
const MAGIC = 0x4d524946; // 'FIRM'
const VERSION = 1;
const BYTES = 32;

/** The parts of a memory region that a peer needs to read or write it. */
export interface RegionDescription {
  readonly key: bigint;
  readonly address: bigint;
  /** Bytes. */
  readonly length: number;
}

/** Serialises a region's description for a peer. */
export function encodeDescriptor(region: RegionDescription): Uint8Array {
  const bytes = new Uint8Array(BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint8(4, VERSION);
  view.setBigUint64(8, region.key, true);
  view.setBigUint64(16, region.address, true);
  view.setBigUint64(24, BigInt(region.length), true);
  return bytes;
}

/** Checks a peer's description of its region: a descriptor, or an object. */
export function describedRegion(
  description: ArrayBufferView | ArrayBuffer | RegionDescription,
): RegionDescription {
  const isObject = typeof description === 'object' && description !== null;
  if (!isObject || isRevoked(description) || !('key' in description)) {
    return decodeDescriptor(description);
  }
  const { key, address, length } = description;
  return checkRegion({
    key: BigInt(check64('key', key)),
    address: BigInt(check64('address', address)),
    length: checkInteger('length', length, 0),
  });
}

function checkRegion(region: RegionDescription): RegionDescription {
  if (region.address + BigInt(region.length) <= 2n ** 64n) return region;
  throw invalidArgValue('descriptor', 'describes a region that cannot exist');
}

function decodeDescriptor(descriptor: unknown): RegionDescription {
  // A copy: shared memory could change between the check and the use.
  const bytes = new Uint8Array(checkBytes('descriptor', descriptor));
  if (bytes.length !== BYTES) throw invalidArgValue('descriptor', `must have ${BYTES} bytes`);
  const view = new DataView(bytes.buffer);
  if (view.getUint32(0, true) !== MAGIC) {
    throw invalidArgValue('descriptor', 'is not the descriptor of a memory region');
  }
  if (view.getUint8(4) !== VERSION) {
    throw invalidArgValue('descriptor', `has version ${view.getUint8(4)}, not ${VERSION}`);
  }
  if (view.getUint8(5) !== 0 || view.getUint16(6, true) !== 0) {
    throw invalidArgValue('descriptor', 'is malformed');
  }
  const [key, address, length] = [8, 16, 24].map((at) => view.getBigUint64(at, true)) as [
    bigint,
    bigint,
    bigint,
  ];
  if (length > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw invalidArgValue('descriptor', 'describes a region that cannot exist');
  }
  return checkRegion({ key, address, length: Number(length) });
}

// A garbage-collected remote region frees its slot in the engine's table.
const forget = new FinalizationRegistry<{ engine: Engine; handle: number }>(
  ({ engine, handle }) => {
    if (engine.open) native.remoteForget(engine.handle, handle);
  },
);

/** A peer's memory region: domain.remote() creates it from the peer's descriptor. */
export class RemoteRegion implements RegionDescription {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  readonly key: bigint;
  readonly address: bigint;
  /** Bytes. */
  readonly length: number;
  /** @internal */
  readonly engine: Engine;
  /** @internal The handle in the engine's table. */
  readonly handle: number;
  #closed = false;

  /** @internal */
  constructor(engine: Engine, description: RegionDescription) {
    this.key = description.key;
    this.address = description.address;
    this.length = description.length;
    this.engine = engine;
    this.handle = native.remoteAdd(engine.handle, this.address, this.key, BigInt(this.length));
    forget.register(this, { engine, handle: this.handle }, this);
  }

  /** Whether close() was called. */
  get closed(): boolean {
    return this.#closed;
  }

  /** @internal */
  static is(value: unknown): value is RemoteRegion {
    return typeof value === 'object' && value !== null && #closed in value;
  }

  /** Removes the region from the engine. Operations that use it and are not yet posted fail. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    forget.unregister(this);
    if (this.engine.open) native.remoteForget(this.engine.handle, this.handle);
  }

  /** Closes the region: `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}
