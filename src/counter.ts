import { check64, oneOf } from './checks.js';
import { publishClose, publishOpen } from './diagnostics.js';
import type { Engine } from './engine/engine.js';
import { Kind } from './engine/requests.js';
import { closed } from './errors.js';
import { type Handle, native } from './native.js';
import { checkWait, type WaitOptions } from './wait-options.js';

/** What a counter counts: fi_cntr(3). */
export type CounterEvents = 'FI_CNTR_EVENTS_COMP' | 'FI_CNTR_EVENTS_BYTES';

/** What a counter is opened with: fi_cntr_attr of fi_cntr(3). */
export interface CounterOptions {
  /**
   * Operations, FI_CNTR_EVENTS_COMP, when left out; or the bytes of what they moved, which of libfabric's
   * providers only cxi counts.
   */
  readonly events?: CounterEvents;
}

const EVENTS: readonly CounterEvents[] = ['FI_CNTR_EVENTS_COMP', 'FI_CNTR_EVENTS_BYTES'];

/** A counter of completed operations (fi_cntr(3)), bound to endpoints when they are opened. */
export class Counter {
  /** What it counts. */
  readonly events: CounterEvents;
  readonly #engine: Engine;
  readonly #handle: Handle<'Counter'>;
  /** @internal What is closed with it: the endpoints it is bound to. */
  readonly users = new Set<{ isClosed: boolean }>();
  #closed = false;

  /** @internal */
  constructor(engine: Engine, options: CounterOptions) {
    this.events = oneOf('options.events', options.events ?? 'FI_CNTR_EVENTS_COMP', EVENTS);
    this.#engine = engine;
    this.#handle = native.counterOpen(engine.handle, this.events === 'FI_CNTR_EVENTS_BYTES');
    publishOpen('counter', this);
  }

  /** Whether it is closed, or something that it belongs to is. */
  get closed(): boolean {
    return this.#closed || !this.#engine.open;
  }

  /** @internal */
  static is(value: unknown): value is Counter {
    return typeof value === 'object' && value !== null && #handle in value;
  }

  /** @internal */
  get handle(): Handle<'Counter'> {
    if (this.closed) throw closed('the counter');
    return this.#handle;
  }

  /** Its value: fi_cntr_read. */
  read(): bigint {
    return native.counterRead(this.handle);
  }

  /** Operations that completed in error: fi_cntr_readerr. */
  readErr(): bigint {
    return native.counterReadErr(this.handle);
  }

  /** Adds to its value: fi_cntr_add. */
  add(value: bigint | number): void {
    native.counterAdd(this.handle, check64('value', value));
  }

  /** Sets its value: fi_cntr_set. */
  set(value: bigint | number): void {
    native.counterSet(this.handle, check64('value', value));
  }

  /**
   * Resolves when the counter has reached a threshold: fi_cntr_wait.
   *
   * @throws FabricError FI_EAVAIL when an operation completes in error meanwhile.
   */
  async wait(threshold: bigint | number, options: WaitOptions = {}): Promise<void> {
    const handle = this.handle;
    check64('threshold', threshold);
    const wait = checkWait(options);
    const engine = this.#engine;
    const request = engine.begin(Kind.Void, this);
    try {
      native.counterWait(handle, threshold, request);
    } catch (error) {
      engine.abandon(request);
      throw error;
    }
    const promise = engine.requests.promise<void>(request);
    engine.limit(request, promise, wait, 'fi_cntr_wait');
    return engine.settled(promise);
  }

  /** Closes the counter, and the endpoints that it is bound to. */
  async close(): Promise<void> {
    if (this.closed) return;
    native.counterClose(this.#handle);
    this.#closed = true;
    publishClose('counter', this);
    for (const user of this.users) user.isClosed = true;
    this.#engine.drain();
  }

  /** Closes it: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
