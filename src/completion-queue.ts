import { check64, checkInteger, oneOf } from './checks.js';
import type { Completion } from './completion.js';
import { publishClose, publishOpen } from './diagnostics.js';
import type { Engine, QueueListener } from './engine/engine.js';
import { Kind } from './engine/requests.js';
import { closed, type FabricError } from './errors.js';
import type { CqFormat } from './flags.js';
import { type Immediate, Immediates, type ImmediatesOptions } from './immediates.js';
import { type Handle, native } from './native.js';
import { checkWait, type WaitOptions } from './wait-options.js';

/** What a completion queue is opened with: fi_cq_open, fi_cq(3). */
export interface CompletionQueueOptions {
  /**
   * Entries. When left out: the provider's default, or with efa, whose queues lose what they have no
   * room for, all that one endpoint can have in flight.
   */
  readonly size?: number;
  /** What completions tell; when left out, FI_CQ_FORMAT_TAGGED, or FI_CQ_FORMAT_DATA without tags. */
  readonly format?: CqFormat;
}

// Providers take memory for all entries at once.
const MAX_SIZE = 2 ** 24;
const MAX_ERRORS = 1024;
const FORMATS: readonly CqFormat[] = [
  'FI_CQ_FORMAT_UNSPEC',
  'FI_CQ_FORMAT_CONTEXT',
  'FI_CQ_FORMAT_MSG',
  'FI_CQ_FORMAT_DATA',
  'FI_CQ_FORMAT_TAGGED',
];

/** One entry of a queue that is read by hand. */
export interface QueueEntry {
  /** What the operation was given as its context. */
  readonly context: unknown;
  /** Set when the operation has succeeded. */
  readonly completion?: Completion;
  /** Set when it has failed. */
  readonly error?: FabricError;
}

/**
 * A completion queue (fi_cq(3)). The engine of the domain reads it; operations complete through
 * their promises or batches, and those posted through `endpoint.post` through read().
 */
export class CompletionQueue implements QueueListener {
  /** Entries. */
  readonly size: number;
  readonly format: CqFormat;
  /** Whether an idle engine can sleep until the queue wakes it, or has to poll. */
  readonly waitable: boolean;
  readonly #engine: Engine;
  readonly #handle: Handle<'CompletionQueue'>;
  readonly #queue: number;
  readonly #errors: FabricError[] = [];
  #entries: QueueEntry[] = [];
  #immediates: Immediates | undefined;
  #closed = false;
  /** @internal The endpoints that end with it. */
  readonly users = new Set<{ isClosed: boolean }>();

  /** @internal */
  constructor(engine: Engine, options: CompletionQueueOptions) {
    const size = checkInteger('options.size', options.size ?? 0, 0, MAX_SIZE);
    const { format } = options;
    if (format !== undefined) oneOf('options.format', format, FORMATS);
    const wait = engine.driver === 'thread';
    const opened = native.cqOpen(engine.handle, { size, format, wait });
    this.#engine = engine;
    this.#handle = opened.handle;
    this.#queue = opened.queue;
    this.size = opened.size;
    this.format = format ?? (opened.tagged ? 'FI_CQ_FORMAT_TAGGED' : 'FI_CQ_FORMAT_DATA');
    this.waitable = opened.waitable;
    engine.queues.set(opened.queue, this);
    publishOpen('completionQueue', this);
  }

  /** Whether it is closed, or something that it belongs to is. */
  get closed(): boolean {
    return this.#closed || !this.#engine.open;
  }

  /** @internal */
  static is(value: unknown): value is CompletionQueue {
    return typeof value === 'object' && value !== null && #handle in value;
  }

  /** @internal */
  get handle(): Handle<'CompletionQueue'> {
    this.#checkOpen();
    return this.#handle;
  }

  /**
   * Takes at most `max` completions of operations that were posted through `endpoint.post`. With the
   * manual driver the engine is turned first.
   */
  read(max = 64): QueueEntry[] {
    this.#checkOpen();
    checkInteger('max', max, 1);
    if (this.#engine.driver === 'manual') this.#engine.turn();
    if (this.#entries.length <= max) {
      const all = this.#entries;
      this.#entries = [];
      return all;
    }
    return this.#entries.splice(0, max);
  }

  /** @internal */
  push(entry: QueueEntry): void {
    this.#entries.push(entry);
  }

  /**
   * Takes the errors that belong to no operation, at most the last 1024: what could not be read from
   * the queue, and what its endpoints tell of themselves. So efa tells of a peer that it could not
   * greet, and of what broke an endpoint.
   */
  readErrors(): FabricError[] {
    return this.#errors.splice(0);
  }

  /**
   * Resolves when `count` remote writes with this data have arrived, counted natively: one wake-up
   * for all of them. Those that arrived before count, unless immediates() has told of them.
   *
   * Arrivals that nobody asked for are kept for 65,536 values. What comes beyond them is lost:
   * readErrors() tells of it, `stats().lostImmediates` counts it, and arrived() rejects with
   * FI_EOVERRUN where it would wait for what may be lost, until forgetImmediates().
   *
   * @param value the data of the writes, as `writedata` sent it.
   */
  async arrived(value: bigint | number, count = 1, options: WaitOptions = {}): Promise<void> {
    this.#checkOpen();
    check64('value', value);
    checkInteger('count', count, 1);
    const wait = checkWait(options);
    const engine = this.#engine;
    const request = engine.begin(Kind.Void, this);
    try {
      native.cqExpect(this.#handle, value, count, request);
    } catch (error) {
      engine.abandon(request);
      throw error;
    }
    const promise = engine.requests.promise<void>(request);
    engine.limit(request, promise, wait);
    return promise;
  }

  /**
   * The arrivals of remote writes with data, one by one: in order as the provider reports them.
   * While it is open, `arrived()` counts only the values it has been asked for. A queue has one such
   * stream at a time, with the options that it was opened with. When it ends, what it has not told of
   * counts for `arrived()`, and for the next such stream, again.
   */
  immediates(options?: ImmediatesOptions): Immediates {
    this.#checkOpen();
    const wait = checkWait(options);
    const limit = checkInteger('options.limit', options?.limit ?? 65_536, 1, 2 ** 24);
    if (this.#immediates !== undefined) return this.#immediates;
    this.#immediates = new Immediates(this.#engine, wait, limit, (left) => this.#endStream(left));
    native.cqStream(this.#handle, limit);
    return this.#immediates;
  }

  #endStream(left: Immediate[]): void {
    this.#immediates = undefined;
    if (this.closed) return;
    native.cqStream(this.#handle, 0);
    if (left.length === 0) return;
    native.cqCount(
      this.#handle,
      BigUint64Array.from(left, ({ data }) => data),
    );
    this.#engine.drain();
  }

  /**
   * Forgets all arrivals that nobody has asked for, and those that were lost, and says how many they
   * were: peers may begin anew then.
   */
  forgetImmediates(): { counted: number; lost: number } {
    this.#checkOpen();
    return native.cqForget(this.#handle);
  }

  /** @internal */
  immediate(data: bigint, length: number): void {
    if (this.#immediates?.push({ data, length })) return;
    if (this.closed) return;
    // Its stream has ended, or has no room.
    native.cqStream(this.#handle, 0);
    native.cqCount(this.#handle, BigUint64Array.of(data));
  }

  /** @internal */
  overrun(error: FabricError): void {
    if (this.#immediates === undefined) this.unsolicited(error);
    else this.#immediates.overrun(error);
  }

  /** @internal */
  unsolicited(error: FabricError): void {
    if (this.#errors.length === MAX_ERRORS) this.#errors.shift();
    this.#errors.push(error);
  }

  /** Closes the queue, and the endpoints that use it. */
  async close(): Promise<void> {
    if (this.closed) return;
    native.cqClose(this.#handle);
    this.end();
  }

  /** @internal It was closed, or lost. */
  end(): void {
    this.#closed = true;
    publishClose('completionQueue', this);
    for (const user of this.users) user.isClosed = true;
    this.#engine.drain();
    this.#engine.queues.delete(this.#queue);
    this.#immediates?.finish();
  }

  /** Closes it: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.closed) throw closed('the completion queue');
  }
}
