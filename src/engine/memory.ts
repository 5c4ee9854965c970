import { types } from 'node:util';
import { refuseDetached } from '../checks.js';
import { closed, invalidArgType, invalidArgValue } from '../errors.js';
import { type Handle, native } from '../native.js';
import {
  bufferOf,
  isBufferView,
  isResizable,
  isUint8Array,
  lengthOf,
  offsetOf,
  sizeOf,
} from '../views.js';
import { CARRIED_BYTES } from './layout.js';

/** Memory that an operation may use: bytes of the caller's, or a piece of a registered region. */
export type Buffers = ArrayBufferView | ArrayBufferLike | RegisteredBytes;

/** A piece of a {@link MemoryRegion}. */
export abstract class RegisteredBytes {
  /** @internal The engine's table that knows the memory. */
  abstract readonly memory: Memory;
  /** @internal Handle in the engine's table. */
  abstract readonly memoryHandle: number;
  /** Bytes from the start of the region. */
  abstract readonly offset: number;
  /** Bytes. */
  abstract readonly length: number;
  abstract readonly closed: boolean;
  // What only looks like a region lacks it.
  readonly #genuine = true;

  /** @internal */
  static is(value: unknown): value is RegisteredBytes {
    return typeof value === 'object' && value !== null && #genuine in value;
  }
}

/** Where a buffer's bytes are, in the engine's table. */
export interface Place {
  /** 0 names no memory: there are no bytes, or they are {@link carried}. */
  readonly handle: number;
  readonly offset: number;
  readonly length: number;
  /** The bytes of a buffer that was not entered. */
  readonly carried: Uint8Array | undefined;
}

type Found = { -readonly [Field in keyof Place]: Place[Field] };

/** In place of a handle: the buffer has been sent once, and was not entered for that. */
const CARRIED = 0;

/**
 * The buffers that the engine of a domain knows. A buffer is entered once, when it is first used,
 * and found again by identity. From then on the engine holds its memory, and goes on to do so while
 * an operation uses it: a buffer may be detached at any time.
 */
export class Memory {
  readonly #domain: Handle<'Domain'>;
  readonly #handles = new WeakMap<ArrayBufferLike, number>();
  readonly #forget: FinalizationRegistry<number>;
  #lastBuffer: ArrayBufferLike | undefined;
  #lastHandle = 0;

  readonly #place: Found = { handle: 0, offset: 0, length: 0, carried: undefined };

  constructor(domain: Handle<'Domain'>) {
    this.#domain = domain;
    this.#forget = new FinalizationRegistry((handle) => native.memoryForget(domain, handle));
  }

  /**
   * Finds where a buffer's bytes are, in an object that the next call uses again. Throws for what
   * can't be used.
   *
   * @param once the bytes are read once, from now on: a few of them in a buffer that is not known are
   * better carried along than entered, which takes 3 us and a FinalizationRegistry.
   */
  locate(buffer: Buffers, name = 'buffer', once = false): Place {
    const place = this.#place;
    if (RegisteredBytes.is(buffer) && buffer.memory === this && !buffer.closed) {
      place.handle = buffer.length === 0 ? 0 : buffer.memoryHandle;
      place.offset = buffer.offset;
      place.length = buffer.length;
    } else {
      this.#locateBytes(place, buffer, name, once);
    }
    return place;
  }

  #locateBytes(place: Found, buffer: Buffers, name: string, once: boolean): void {
    let whole: ArrayBufferLike;
    if (isBufferView(buffer)) {
      whole = bufferOf(buffer);
      place.offset = offsetOf(buffer);
      place.length = lengthOf(buffer);
    } else if (RegisteredBytes.is(buffer)) {
      if (buffer.memory !== this) throw invalidArgValue(name, 'is a region of another domain');
      throw closed('the memory region');
    } else if (types.isAnyArrayBuffer(buffer)) {
      whole = buffer;
      place.offset = 0;
      place.length = sizeOf(buffer);
    } else {
      throw invalidArgType(name, 'an ArrayBuffer, a view of one, or a memory region', buffer);
    }
    if (place.length === 0) {
      refuseDetached(whole, name);
      place.handle = 0;
    } else {
      place.handle =
        whole === this.#lastBuffer
          ? this.#lastHandle
          : this.#handleOf(place, whole, name, once ? buffer : undefined);
    }
  }

  #handleOf(
    place: Found,
    buffer: ArrayBufferLike,
    name: string,
    once: Buffers | undefined,
  ): number {
    let handle = this.#handles.get(buffer);
    if (handle === undefined || handle === CARRIED) {
      refuseUnsteady(buffer, name);
      if (handle !== CARRIED && once !== undefined && place.length <= CARRIED_BYTES) {
        return this.#carry(place, buffer, once);
      }
      handle = native.memoryAdopt(this.#domain, new Uint8Array(buffer));
      this.#handles.set(buffer, handle);
      this.#forget.register(buffer, handle);
    }
    this.#lastBuffer = buffer;
    this.#lastHandle = handle;
    return handle;
  }

  // What is sent a second time is entered: it may be sent for ever.
  #carry(place: Found, buffer: ArrayBufferLike, view: Buffers): number {
    const { offset, length } = place;
    place.carried = isUint8Array(view) ? view : new Uint8Array(buffer, offset, length);
    this.#handles.set(buffer, CARRIED);
    return 0;
  }

  /** A registered region covers this buffer: operations on it use the region. */
  cover(buffer: ArrayBufferLike, handle: number): void {
    this.#handles.set(buffer, handle);
    this.#lastBuffer = undefined;
  }

  uncover(buffer: ArrayBufferLike, handle: number): void {
    if (this.#handles.get(buffer) === handle) this.#handles.delete(buffer);
    this.#lastBuffer = undefined;
  }
}

/** Refuses a buffer that is detached, or whose memory may move. */
export function refuseUnsteady(buffer: ArrayBufferLike, name: string): void {
  if (isResizable(buffer)) {
    throw invalidArgValue(name, 'is resizable: its memory may move while the network uses it');
  }
  refuseDetached(buffer, name);
}
