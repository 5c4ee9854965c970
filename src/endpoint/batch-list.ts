import { checkInteger } from '../base/checks.js';
import { invalidArgType } from '../base/errors.js';
import { native } from '../contract/native.js';
import type { Engine } from '../engine/engine.js';
import { Entries } from '../engine/entries.js';
import { RoundTimes } from '../engine/round-times.js';
import type { Sink } from '../engine/submissions.js';
import { type BatchUpdate, updateEntry } from './batch-update.js';
import type { Limits } from './target.js';

const FIRST_ENTRIES = 64;

const forget = new FinalizationRegistry<{ engine: Engine; handle: number }>(
  ({ engine, handle }) => {
    if (engine.open) native.batchDestroy(engine.handle, handle);
  },
);

/** The operations of a batch, in memory that the engine reads, and the objects that they use. */
export class BatchList implements Sink {
  readonly #engine: Engine;
  readonly #owners: unknown[] = [];
  /** The first entry of an operation, by its index. */
  readonly #starts: number[] = [];
  #entries: Entries;
  #handle: number;
  #times = new RoundTimes();
  #used = 0;
  #next = 0;
  // The owner of the operation that is being written.
  #owner: unknown;
  // The number of operations. clear() does not shrink the arrays, so they may be longer.
  #size = 0;
  #version = 1;

  constructor(engine: Engine) {
    this.#engine = engine;
    const created = native.batchCreate(engine.handle, FIRST_ENTRIES);
    this.#entries = new Entries(created.buffer);
    this.#handle = created.batch;
    forget.register(this, { engine, handle: this.#handle }, this);
  }

  /** The number of operations. */
  get size(): number {
    return this.#size;
  }

  get entries(): Entries {
    return this.#entries;
  }

  /** The number of entries that the operations take. */
  get used(): number {
    return this.#used;
  }

  /** The list in the engine's table. */
  get handle(): number {
    return this.#handle;
  }

  /** Changes when the engine must read the operations again. */
  get version(): number {
    return this.#version;
  }

  /** The durations of rounds, which the engine writes. */
  get times(): RoundTimes {
    return this.#times;
  }

  /** Starts an operation that uses `owner`. Returns its index. */
  begin(owner: unknown): number {
    this.#owner = owner;
    return this.#size;
  }

  reserve(blocks: number): number {
    this.#next = this.#used + 1 + blocks;
    if (this.#next > this.#entries.capacity) this.#grow(this.#next);
    return this.#used;
  }

  commit(): void {
    this.#owners[this.#size] = this.#owner;
    this.#starts[this.#size++] = this.#used;
    this.#version++;
    this.#used = this.#next;
  }

  #grow(needed: number): void {
    const capacity = Math.max(needed, this.#entries.capacity * 2);
    const created = native.batchCreate(this.#engine.handle, capacity);
    const grown = new Entries(created.buffer);
    grown.u8.set(this.#entries.u8);
    native.batchDestroy(this.#engine.handle, this.#handle);
    forget.unregister(this);
    this.#entries = grown;
    this.#handle = created.batch;
    this.#times = new RoundTimes();
    forget.register(this, { engine: this.#engine, handle: this.#handle }, this);
  }

  update(index: number, change: BatchUpdate, limits: Limits): void {
    checkInteger('index', index, 0, this.#size - 1);
    if (change === undefined) throw invalidArgType('change', 'an object', change);
    const start = this.#starts[index] as number;
    // The engine reads the tag at every submission.
    if (updateEntry(this.#entries, start, limits, change)) this.#version++;
  }

  clear(): void {
    this.#owners.fill(undefined, 0, this.#size);
    this.#size = 0;
    this.#used = 0;
    this.#version++;
  }

  /** Frees the memory. */
  close(): void {
    forget.unregister(this);
    this.#owners.length = 0;
    if (this.#engine.open) native.batchDestroy(this.#engine.handle, this.#handle);
  }
}
