import { isDetached } from '../base/views.js';
import { native } from '../contract/native.js';
import type { Engine } from './engine.js';

/** A buffer of this package, for one receive at a time. */
export class Slot {
  /** @internal The handle in the engine's table. */
  handle: number;
  /** @internal */
  buffer: ArrayBuffer;

  /** @internal */
  constructor(handle: number, buffer: ArrayBuffer) {
    this.handle = handle;
    this.buffer = buffer;
  }
}

const collected = new FinalizationRegistry<{ engine: Engine; handles: Set<number> }>(
  ({ engine, handles }) => forget(engine, handles),
);

function forget(engine: Engine, handles: Set<number>): void {
  if (engine.open) native.slotsForget(engine.handle, Uint32Array.from(handles));
}

/**
 * Buffers for receives. Each has its own ArrayBuffer, so a caller who transfers a message's buffer
 * takes only that message. Its slot then gets new memory.
 */
export class Slots {
  readonly all: readonly Slot[];
  /** The size of each buffer in bytes. */
  readonly size: number;
  readonly #engine: Engine;
  readonly #handles: Set<number>;

  constructor(engine: Engine, count: number, size: number) {
    const { handles, buffers } = native.slotsCreate(engine.handle, count, size);
    this.#engine = engine;
    this.size = size;
    this.#handles = new Set(handles);
    this.all = buffers.map((buffer, i) => new Slot(handles[i] as number, buffer));
    for (const slot of this.all) engine.memory.cover(slot.buffer, slot.handle);
    collected.register(this, { engine, handles: this.#handles }, this);
  }

  /** Prepares a slot for a receive: gives it new memory if its buffer was transferred. */
  ready(slot: Slot): void {
    if (isDetached(slot.buffer)) this.#renew(slot);
  }

  #renew(slot: Slot): void {
    const { handles, buffers } = native.slotsCreate(this.#engine.handle, 1, this.size);
    forget(this.#engine, new Set([slot.handle]));
    this.#handles.delete(slot.handle);
    slot.handle = handles[0] as number;
    slot.buffer = buffers[0] as ArrayBuffer;
    this.#handles.add(slot.handle);
    this.#engine.memory.cover(slot.buffer, slot.handle);
  }

  /**
   * The received bytes of a slot. A copy, if its buffer was transferred while the receive was
   * posted.
   */
  received(slot: Slot, length: number): Uint8Array {
    if (!isDetached(slot.buffer)) return new Uint8Array(slot.buffer, 0, length);
    return new Uint8Array(native.memoryRead(this.#engine.handle, slot.handle, 0, length));
  }

  /** Frees the slots. Memory that callers still reference stays valid. */
  close(): void {
    collected.unregister(this);
    for (const { buffer, handle } of this.all) this.#engine.memory.uncover(buffer, handle);
    forget(this.#engine, this.#handles);
    this.#handles.clear();
  }
}
