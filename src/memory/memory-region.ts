import { types } from 'node:util';
import { cancellable } from '../base/cancellation.js';
import { publishClose, publishOpen } from '../base/channels.js';
import { checkInteger } from '../base/checks.js';
import { uncloneable } from '../base/describe.js';
import { closed, invalidState, invalidThis } from '../base/errors.js';
import type { MrAccess } from '../base/flags.js';
import { sizeOf } from '../base/views.js';
import { checkWait, type WaitOptions, within } from '../base/wait-options.js';
import { type NativeRegion, native } from '../contract/native.js';
import type { Engine } from '../engine/engine.js';
import type { DeviceAccess } from '../engine/memory.js';
import { type Memory, RegisteredBytes } from '../engine/memory.js';
import { Kind } from '../engine/requests.js';
import { encodeDescriptor, type RegionDescription } from './remote-region.js';

const OF_REGION = uncloneable(
  'a MemoryRegion belongs to its thread: send region.descriptor(), for domain.remote()',
);

const OF_SLICE = uncloneable(
  'a RegionSlice belongs to its thread: send region.descriptor(), and the start and end of the slice',
);

const collected = new FinalizationRegistry<Engine>((engine) => {
  if (!engine.open) return;
  process.emitWarning(
    'A MemoryRegion was garbage collected before close(). ' +
      'Its memory stays registered until its domain closes.',
    'LibfabricWarning',
  );
});

/** Bytes of the host, as they were when their registration began. Their ArrayBuffer may be detached since then. */
export interface HostBytes {
  readonly buffer: ArrayBufferLike;
  /** Bytes from the start of the buffer. */
  readonly start: number;
  /** Bytes. */
  readonly length: number;
}

export const hostBytesOf = ({ buffer, byteOffset, length }: Uint8Array): HostBytes => ({
  buffer,
  start: byteOffset,
  length,
});

/** Memory of a device that was registered. */
interface DeviceRegion {
  /** Bytes. */
  readonly length: number;
  readonly access: DeviceAccess;
}

/**
 * Memory that is registered with a domain (fi_mr(3)). Operations use it without further
 * registration, and peers may access it as its rights allow.
 *
 * The memory stays registered until close(), even if nothing else references it. Memory from
 * allocate() is page-aligned.
 */
export class MemoryRegion extends RegisteredBytes implements RegionDescription {
  /** @internal */
  readonly uncloneable = OF_REGION;
  /** Bytes from the start of the region: 0. */
  readonly offset = 0;
  /** Bytes. */
  readonly length: number;
  /** The key that peers need: fi_mr_key(3). */
  readonly key: bigint;
  /**
   * The address that peers add offsets to: the virtual address with FI_MR_VIRT_ADDR, otherwise 0.
   */
  readonly address: bigint;
  /** The access rights of the region. */
  readonly access: readonly MrAccess[];
  /** Whether the memory is in huge pages. Undefined if allocate() did not allocate it. */
  readonly hugePages: boolean | undefined;
  readonly deviceAccess: DeviceAccess | undefined;
  /** @internal */
  readonly memory: Memory;
  /** @internal */
  readonly memoryHandle: number;
  readonly #engine: Engine;
  // Undefined for memory of a device.
  #buffer: ArrayBufferLike | undefined;
  #start: number;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(
    engine: Engine,
    region: NativeRegion,
    memory: HostBytes | DeviceRegion,
    access: readonly MrAccess[],
    hugePages?: boolean,
  ) {
    super();
    this.#engine = engine;
    if ('buffer' in memory) {
      this.#start = memory.start;
      this.#buffer = memory.buffer;
      this.deviceAccess = undefined;
    } else {
      this.#start = 0;
      this.deviceAccess = memory.access;
    }
    this.length = memory.length;
    this.key = region.key;
    this.address = region.address;
    this.access = Object.freeze([...access]);
    this.hugePages = hugePages;
    this.memory = engine.memory;
    this.memoryHandle = region.memory;
    this.#enter();
    collected.register(this, engine, this);
    publishOpen('memoryRegion', this);
  }

  #enter(): void {
    const buffer = this.#buffer;
    if (buffer === undefined) return;
    const { registered, memory } = this.#engine;
    if (types.isSharedArrayBuffer(buffer)) registered.set(this.memoryHandle, buffer);
    if (this.length === sizeOf(buffer)) memory.cover(buffer, this.memoryHandle);
  }

  /**
   * The memory. If its ArrayBuffer was detached (by transfer(), structuredClone() or a byte
   * stream), this is another ArrayBuffer over the same memory: the holder of the first one shares
   * it with the region.
   *
   * @throws Error ERR_CLOSED if the ArrayBuffer was detached and the region is closed.
   * ERR_INVALID_STATE if the memory is on a device.
   */
  get buffer(): ArrayBufferLike {
    const buffer = this.#buffer;
    if (buffer === undefined) {
      throw invalidState('the memory of this region is on a device: the host has no bytes of it');
    }
    if (types.isSharedArrayBuffer(buffer) || sizeOf(buffer) > 0) return buffer;
    return this.#renew(buffer);
  }

  #renew(detached: ArrayBufferLike): ArrayBufferLike {
    if (this.closed) throw closed('the memory region');
    const { memory, handle } = this.#engine;
    memory.uncover(detached, this.memoryHandle);
    const buffer = native.memoryBuffer(handle, this.memoryHandle);
    this.#buffer = buffer;
    this.#start = 0;
    memory.cover(buffer, this.memoryHandle);
    return buffer;
  }

  /** @internal */
  static override is(value: unknown): value is MemoryRegion {
    return RegisteredBytes.is(value) && #start in value;
  }

  /**
   * The registered bytes.
   *
   * @throws Error ERR_CLOSED, ERR_INVALID_STATE: see `buffer`.
   */
  get bytes(): Uint8Array {
    return new Uint8Array(this.buffer, this.#start, this.length);
  }

  /** Whether the region or its domain is closed. */
  get closed(): boolean {
    return this.#closing !== undefined || !this.#engine.open;
  }

  /**
   * The bytes [start, end) of the region, for operations.
   *
   * @throws RangeError ERR_OUT_OF_RANGE if they are not within the region. Negative numbers do not count from the end.
   */
  slice(start = 0, end = this.length): RegionSlice {
    if (!RegisteredBytes.is(this)) throw invalidThis('a MemoryRegion');
    return sliceOf(this, this, start, end);
  }

  /** The descriptor of the region. Send it to a peer, which passes it to domain.remote(). */
  descriptor(): Uint8Array {
    if (!RegisteredBytes.is(this)) throw invalidThis('a MemoryRegion');
    return encodeDescriptor(this);
  }

  /**
   * Deregisters the memory when no local operation uses it any more: fi_close. If the timeout or
   * the signal ends the wait, the memory is still deregistered then. With efa of libfabric 2.7 it does
   * not wait for aborted sends and RMA to other hosts, but ends them: fi_efa(7), MR ABORTING.
   *
   * @throws FabricError FI_ETIMEDOUT after `options.timeout`, or the code of fi_close(3).
   * AbortError, or the signal's reason.
   */
  close(options: WaitOptions = {}): Promise<void> {
    return cancellable(async () => {
      const wait = checkWait(options);
      this.#closing ??= this.#close();
      return within(this.#closing, wait, 'fi_close');
    });
  }

  async #close(): Promise<void> {
    const engine = this.#engine;
    collected.unregister(this);
    if (!engine.open) return;
    if (this.#buffer !== undefined) engine.memory.uncover(this.#buffer, this.memoryHandle);
    const request = engine.begin(Kind.Void, this);
    const promise = engine.requests.promise<void>(request);
    engine.controls.closeMemory(request, this.memoryHandle);
    await engine.settled(promise);
    engine.registered.delete(this.memoryHandle);
    publishClose('memoryRegion', this);
  }

  /** Deregisters the memory: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** A slice of a memory region. */
export class RegionSlice extends RegisteredBytes {
  /** @internal */
  readonly uncloneable = OF_SLICE;
  readonly region: MemoryRegion;
  readonly offset: number;
  readonly length: number;
  /** @internal */
  readonly memory: Memory;
  /** @internal */
  readonly memoryHandle: number;

  /** @internal */
  constructor(region: MemoryRegion, offset: number, length: number) {
    super();
    this.region = region;
    this.offset = offset;
    this.length = length;
    this.memory = region.memory;
    this.memoryHandle = region.memoryHandle;
  }

  /** Whether the region or its domain is closed. */
  get closed(): boolean {
    return this.region.closed;
  }

  get deviceAccess(): DeviceAccess | undefined {
    return this.region.deviceAccess;
  }

  /**
   * The bytes of this slice.
   *
   * @throws Error ERR_CLOSED, ERR_INVALID_STATE: see the region's `buffer`.
   */
  get bytes(): Uint8Array {
    const whole = this.region.bytes;
    return whole.subarray(this.offset, this.offset + this.length);
  }

  /**
   * The bytes [start, end) of this slice.
   *
   * @throws RangeError ERR_OUT_OF_RANGE if they are not within this slice.
   */
  slice(start = 0, end = this.length): RegionSlice {
    if (!RegisteredBytes.is(this)) throw invalidThis('a RegionSlice');
    return sliceOf(this.region, this, start, end);
  }
}

function sliceOf(region: MemoryRegion, within: RegisteredBytes, start: number, end: number) {
  checkInteger('start', start, 0, within.length);
  checkInteger('end', end, start, within.length);
  return new RegionSlice(region, within.offset + start, end - start);
}
