import { publishOpen } from './base/channels.js';
import { check64, checkOptions, namesOf, oneOf } from './base/checks.js';
import { uncloneable } from './base/describe.js';
import { checkWait, type Wait, type WaitOptions } from './base/wait-options.js';
import { native } from './contract/native.js';
import { BoundHandle } from './engine/bound-handle.js';
import type { Engine } from './engine/engine.js';
import { Kind } from './engine/requests.js';

const UNCLONEABLE = uncloneable('a Counter belongs to its thread: send counter.read()');

/** The events that a counter counts: fi_cntr(3). */
export type CounterEvents = 'FI_CNTR_EVENTS_COMP' | 'FI_CNTR_EVENTS_BYTES';

/** The options of a counter: fi_cntr_attr of fi_cntr(3). */
export interface CounterOptions {
  /**
   * Counts operations (FI_CNTR_EVENTS_COMP, if omitted) or the bytes that they moved. Of
   * libfabric's providers, only cxi counts bytes.
   */
  readonly events?: CounterEvents;
}

const NAMES = namesOf<CounterOptions>({ events: 1 });
const EVENTS: readonly CounterEvents[] = ['FI_CNTR_EVENTS_COMP', 'FI_CNTR_EVENTS_BYTES'];

/** A counter of completed operations (fi_cntr(3)), bound to endpoints when they are opened. */
export class Counter {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /** Whether it counts operations or bytes. */
  readonly events: CounterEvents;
  /** @internal */
  readonly bound: BoundHandle<'Counter'>;
  readonly #engine: Engine;

  /** @internal */
  constructor(engine: Engine, options: CounterOptions | undefined) {
    const { events = 'FI_CNTR_EVENTS_COMP' } = checkOptions('options', options, NAMES);
    this.events = oneOf('options.events', events, EVENTS);
    this.#engine = engine;
    const handle = native.counterOpen(engine.handle, this.events === 'FI_CNTR_EVENTS_BYTES');
    this.bound = new BoundHandle('counter', engine, handle);
    publishOpen('counter', this);
  }

  /** Whether the counter or its domain is closed. */
  get closed(): boolean {
    return this.bound.closed;
  }

  /** @internal */
  static is(value: unknown): value is Counter {
    return typeof value === 'object' && value !== null && #engine in value;
  }

  /**
   * The value of the counter: fi_cntr_read.
   *
   * @throws Error ERR_CLOSED if the counter is closed.
   */
  read(): bigint {
    return native.counterRead(this.bound.handle);
  }

  /**
   * The number of operations that completed in error: fi_cntr_readerr.
   *
   * @throws Error ERR_CLOSED if the counter is closed.
   */
  readErr(): bigint {
    return native.counterReadErr(this.bound.handle);
  }

  /**
   * Adds to the value: fi_cntr_add.
   *
   * @throws FabricError with the code of fi_cntr_add(3). RangeError ERR_OUT_OF_RANGE. Error
   * ERR_CLOSED.
   */
  add(value: bigint | number): void {
    native.counterAdd(this.bound.handle, check64('value', value));
  }

  /**
   * Sets the value: fi_cntr_set.
   *
   * @throws FabricError with the code of fi_cntr_set(3). RangeError ERR_OUT_OF_RANGE. Error
   * ERR_CLOSED.
   */
  set(value: bigint | number): void {
    native.counterSet(this.bound.handle, check64('value', value));
  }

  /**
   * Resolves when the counter has reached a threshold: fi_cntr_wait. With the manual driver, the
   * call turns the engine until then.
   *
   * @throws FabricError FI_EAVAIL if an operation completes in error first; FI_ETIMEDOUT after
   * `options.timeout`; FI_ECANCELED if the counter is closed first.
   * @throws AbortError, or the signal's reason. Error ERR_CLOSED if the counter is closed already.
   */
  wait(threshold: bigint | number, options: WaitOptions = {}): Promise<void> {
    try {
      this.bound.checkOpen();
      check64('threshold', threshold);
      return this.#wait(threshold, checkWait(options));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #wait(threshold: bigint | number, wait: Wait): Promise<void> {
    const engine = this.#engine;
    const request = engine.begin(Kind.Void, this);
    try {
      native.counterWait(this.bound.handle, threshold, request);
    } catch (error) {
      engine.abandon(request);
      throw error;
    }
    const promise = engine.requests.promise<void>(request);
    engine.limit(request, promise, wait, 'fi_cntr_wait');
    return engine.settled(promise);
  }

  /**
   * Closes the counter and the endpoints that it is bound to.
   *
   * @throws FabricError with the code of fi_close(3).
   */
  async close(): Promise<void> {
    if (this.closed) return;
    native.counterClose(this.bound.handle);
    this.bound.end(this);
  }

  /** Closes the counter: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
