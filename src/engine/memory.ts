import { types } from 'node:util';
import { refuseDetached } from '../checks.js';
import { closed, invalidArgType, invalidArgValue } from '../errors.js';
import { type Handle, native } from '../native.js';
import { bufferOf, isBufferView, isResizable, lengthOf, offsetOf, sizeOf } from '../views.js';

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

  /** What locate() found. */
  handle = 0;
  offset = 0;
  length = 0;

  constructor(domain: Handle<'Domain'>) {
    this.#domain = domain;
    this.#forget = new FinalizationRegistry((handle) => native.memoryForget(domain, handle));
  }

  /** Finds where a buffer's bytes are: handle, offset and length. Throws for what can't be used. */
  locate(buffer: Buffers, name = 'buffer'): void {
    if (RegisteredBytes.is(buffer) && buffer.memory === this && !buffer.closed) {
      this.handle = buffer.length === 0 ? 0 : buffer.memoryHandle;
      this.offset = buffer.offset;
      this.length = buffer.length;
    } else {
      this.#locateBytes(buffer, name);
    }
  }

  #locateBytes(buffer: Buffers, name: string): void {
    let whole: ArrayBufferLike;
    if (isBufferView(buffer)) {
      whole = bufferOf(buffer);
      this.offset = offsetOf(buffer);
      this.length = lengthOf(buffer);
    } else if (RegisteredBytes.is(buffer)) {
      if (buffer.memory !== this) throw invalidArgValue(name, 'is a region of another domain');
      throw closed('the memory region');
    } else if (types.isAnyArrayBuffer(buffer)) {
      whole = buffer;
      this.offset = 0;
      this.length = sizeOf(buffer);
    } else {
      throw invalidArgType(name, 'an ArrayBuffer, a view of one, or a memory region', buffer);
    }
    if (this.length === 0) {
      refuseDetached(whole, name);
      this.handle = 0;
    } else {
      this.handle = whole === this.#lastBuffer ? this.#lastHandle : this.#handleOf(whole, name);
    }
  }

  #handleOf(buffer: ArrayBufferLike, name: string): number {
    let handle = this.#handles.get(buffer);
    if (handle === undefined) {
      refuseUnsteady(buffer, name);
      handle = native.memoryAdopt(this.#domain, new Uint8Array(buffer));
      this.#handles.set(buffer, handle);
      this.#forget.register(buffer, handle);
    }
    this.#lastBuffer = buffer;
    this.#lastHandle = handle;
    return handle;
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
