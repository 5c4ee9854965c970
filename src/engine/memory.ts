import { types } from 'node:util';
import { checkByteLength, refuseDetached, refuseUnusable } from '../base/checks.js';
import { closed, invalidArgType, invalidArgValue } from '../base/errors.js';
import type { HmemIface } from '../base/flags.js';
import {
  bufferOf,
  isBufferView,
  isResizable,
  isUint8Array,
  lengthOf,
  offsetOf,
  sizeOf,
} from '../base/views.js';
import { CARRIED_BYTES } from '../contract/layout.js';
import { type Handle, native } from '../contract/native.js';

/** How the provider reaches memory of a device: by FI_HMEM with an interface, or by FI_MR_DMABUF. */
export type DeviceAccess = Exclude<HmemIface, 'FI_HMEM_SYSTEM'> | 'FI_MR_DMABUF';

/** Memory that an operation may use: the caller's bytes, or a registered region or slice. */
export type Buffers = ArrayBufferView | ArrayBufferLike | RegisteredBytes;

/** A {@link MemoryRegion} or a slice of one. */
export abstract class RegisteredBytes {
  /** @internal The table of buffers that contains the memory. */
  abstract readonly memory: Memory;
  /** @internal The handle in the engine's table. */
  abstract readonly memoryHandle: number;
  /** Offset in the region, in bytes. */
  abstract readonly offset: number;
  /** Bytes. */
  abstract readonly length: number;
  abstract readonly closed: boolean;
  /** How the provider reaches memory of a device. Undefined for memory of the host. */
  abstract readonly deviceAccess: DeviceAccess | undefined;
  // Objects that only imitate a region lack it.
  readonly #genuine = true;

  /** @internal */
  static is(value: unknown): value is RegisteredBytes {
    return typeof value === 'object' && value !== null && #genuine in value;
  }
}

/** The location of a buffer's bytes in the engine's table. */
export interface Location {
  /** 0 means no bytes, or {@link carried} bytes. */
  readonly handle: number;
  readonly offset: number;
  readonly length: number;
  /** The bytes of a buffer that was not entered, to be copied inline. */
  readonly carried: Uint8Array | undefined;
}

type Found = { -readonly [Field in keyof Location]: Location[Field] };

/** Used instead of a handle: the buffer was sent once, inline, and is not in the table. */
const CARRIED = 0;

/**
 * The table of buffers in the engine of a domain. A buffer is entered at its first use and found
 * again by identity. From then on the engine holds its memory, also while an operation uses it,
 * because a buffer may be detached at any time.
 */
export class Memory {
  readonly #domain: Handle<'Domain'>;
  readonly #handles = new WeakMap<ArrayBufferLike, number>();
  readonly #forget: FinalizationRegistry<number>;
  #lastBuffer: ArrayBufferLike | undefined;
  #lastHandle = 0;

  readonly #location: Found = { handle: 0, offset: 0, length: 0, carried: undefined };

  constructor(domain: Handle<'Domain'>) {
    this.#domain = domain;
    this.#forget = new FinalizationRegistry((handle) => native.memoryForget(domain, handle));
  }

  /**
   * Locates a buffer's bytes. The next call overwrites the returned object. Throws if the buffer
   * cannot be used.
   *
   * @param once the bytes are read once, immediately. A few bytes of an unknown buffer are copied
   * inline, because entering the buffer takes 3 us and a FinalizationRegistry.
   */
  locate(buffer: Buffers, name = 'buffer', once = false): Location {
    const location = this.#location;
    if (RegisteredBytes.is(buffer) && buffer.memory === this && !buffer.closed) {
      location.handle = buffer.length === 0 ? 0 : buffer.memoryHandle;
      location.offset = buffer.offset;
      location.length = buffer.length;
    } else {
      this.#locateBytes(location, buffer, name, once);
    }
    return location;
  }

  #locateBytes(location: Found, buffer: Buffers, name: string, once: boolean): void {
    let whole: ArrayBufferLike;
    if (isBufferView(buffer)) {
      whole = bufferOf(buffer);
      location.offset = offsetOf(buffer);
      location.length = lengthOf(buffer);
    } else if (RegisteredBytes.is(buffer)) {
      if (buffer.memory !== this) throw invalidArgValue(name, 'is a region of another domain');
      throw closed('the memory region');
    } else if (types.isAnyArrayBuffer(buffer)) {
      whole = buffer;
      location.offset = 0;
      location.length = sizeOf(buffer);
    } else {
      throw invalidArgType(name, 'an ArrayBuffer, a view of one, or a memory region', buffer);
    }
    if (location.length === 0) {
      if (isBufferView(buffer)) refuseUnusable(buffer, name);
      else refuseDetached(whole, name);
      location.handle = 0;
    } else {
      location.handle =
        whole === this.#lastBuffer
          ? this.#lastHandle
          : this.#handleOf(location, whole, name, once ? buffer : undefined);
    }
  }

  #handleOf(
    location: Found,
    buffer: ArrayBufferLike,
    name: string,
    once: Buffers | undefined,
  ): number {
    let handle = this.#handles.get(buffer);
    if (handle === undefined || handle === CARRIED) {
      refuseUnsteady(buffer, name);
      if (handle !== CARRIED && once !== undefined && location.length <= CARRIED_BYTES) {
        return this.#carry(location, buffer, once);
      }
      checkByteLength(`the ArrayBuffer of ${name}`, sizeOf(buffer));
      handle = native.memoryAdopt(this.#domain, new Uint8Array(buffer));
      this.#handles.set(buffer, handle);
      this.#forget.register(buffer, handle);
    }
    this.#lastBuffer = buffer;
    this.#lastHandle = handle;
    return handle;
  }

  // A buffer that is sent a second time is entered, because more sends may follow.
  #carry(location: Found, buffer: ArrayBufferLike, view: Buffers): number {
    const { offset, length } = location;
    location.carried = isUint8Array(view) ? view : new Uint8Array(buffer, offset, length);
    this.#handles.set(buffer, CARRIED);
    return 0;
  }

  /** Enters a buffer that a registered region covers: operations on it use the region. */
  cover(buffer: ArrayBufferLike, handle: number): void {
    this.#handles.set(buffer, handle);
    this.#lastBuffer = undefined;
  }

  uncover(buffer: ArrayBufferLike, handle: number): void {
    if (this.#handles.get(buffer) === handle) this.#handles.delete(buffer);
    this.#lastBuffer = undefined;
  }
}

/** Refuses a buffer that is detached or whose memory may move. */
export function refuseUnsteady(buffer: ArrayBufferLike, name: string): void {
  if (isResizable(buffer)) {
    throw invalidArgValue(name, 'is resizable: its memory may move while the network uses it');
  }
  refuseDetached(buffer, name);
}
