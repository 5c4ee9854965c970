import { native } from '../native.js';
import { isDetached } from '../views.js';
import type { Engine } from './engine.js';

/** A buffer of the package's own, for one receive at a time. */
export class Slot {
  /** @internal Handle in the engine's table. */
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
 * Buffers that receives are posted to. Each has an ArrayBuffer of its own, so that a caller who
 * transfers a message's buffer takes that message and nothing else; its slot then gets other memory.
 */
export class Slots {
  readonly all: readonly Slot[];
  /** Bytes of each. */
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

  /** Readies a slot for a receive: its memory must be its own. */
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

  /** What a slot has received: a copy, where its buffer was taken while the receive was posted. */
  received(slot: Slot, length: number): Uint8Array {
    if (!isDetached(slot.buffer)) return new Uint8Array(slot.buffer, 0, length);
    return new Uint8Array(native.memoryRead(this.#engine.handle, slot.handle, 0, length));
  }

  /** Gives the memory back; what callers hold of it stays theirs. */
  close(): void {
    collected.unregister(this);
    for (const { buffer, handle } of this.all) this.#engine.memory.uncover(buffer, handle);
    forget(this.#engine, this.#handles);
    this.#handles.clear();
  }
}
