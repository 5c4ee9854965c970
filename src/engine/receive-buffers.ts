import { isDetached } from '../base/views.js';
import { native } from '../contract/native.js';
import type { Engine } from './engine.js';

/** A buffer of this package, for one receive at a time. */
export class ReceiveBuffer {
  /** @internal The handle in the engine's table. */
  handle: number;
  /** @internal */
  memory: ArrayBuffer;

  /** @internal */
  constructor(handle: number, memory: ArrayBuffer) {
    this.handle = handle;
    this.memory = memory;
  }
}

const collected = new FinalizationRegistry<{ engine: Engine; handles: Set<number> }>(
  ({ engine, handles }) => forget(engine, handles),
);

function forget(engine: Engine, handles: Set<number>): void {
  if (engine.open) native.receiveBuffersForget(engine.handle, Uint32Array.from(handles));
}

/**
 * Buffers for receives. Each has its own ArrayBuffer, so a caller who transfers a message's
 * ArrayBuffer takes only that message. The buffer then gets new memory.
 */
export class ReceiveBuffers {
  readonly all: readonly ReceiveBuffer[];
  /** The size of each buffer in bytes. */
  readonly size: number;
  readonly #engine: Engine;
  readonly #handles: Set<number>;

  constructor(engine: Engine, count: number, size: number) {
    const { handles, buffers } = native.receiveBuffersCreate(engine.handle, count, size);
    this.#engine = engine;
    this.size = size;
    this.#handles = new Set(handles);
    this.all = buffers.map((memory, i) => new ReceiveBuffer(handles[i] as number, memory));
    for (const buffer of this.all) engine.memory.cover(buffer.memory, buffer.handle);
    collected.register(this, { engine, handles: this.#handles }, this);
  }

  /** Prepares a buffer for a receive: gives it new memory if its memory was transferred. */
  ready(buffer: ReceiveBuffer): void {
    if (isDetached(buffer.memory)) this.#renew(buffer);
  }

  #renew(buffer: ReceiveBuffer): void {
    const { handles, buffers } = native.receiveBuffersCreate(this.#engine.handle, 1, this.size);
    forget(this.#engine, new Set([buffer.handle]));
    this.#handles.delete(buffer.handle);
    buffer.handle = handles[0] as number;
    buffer.memory = buffers[0] as ArrayBuffer;
    this.#handles.add(buffer.handle);
    this.#engine.memory.cover(buffer.memory, buffer.handle);
  }

  /**
   * The received bytes of a buffer. A copy, if its memory was transferred while the receive was
   * posted.
   */
  received(buffer: ReceiveBuffer, length: number): Uint8Array {
    if (!isDetached(buffer.memory)) return new Uint8Array(buffer.memory, 0, length);
    return new Uint8Array(native.memoryRead(this.#engine.handle, buffer.handle, 0, length));
  }

  /** Frees the buffers. Memory that callers still reference stays valid. */
  close(): void {
    collected.unregister(this);
    for (const { memory, handle } of this.all) this.#engine.memory.uncover(memory, handle);
    forget(this.#engine, this.#handles);
    this.#handles.clear();
  }
}
