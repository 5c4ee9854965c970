import { publishOpen } from './base/channels.js';
import { check64, checkInteger, checkOptions, namesOf, oneOf } from './base/checks.js';
import { uncloneable } from './base/describe.js';
import { errnoByCode } from './base/error-codes.js';
import { FabricError, invalidArgType, invalidState } from './base/errors.js';
import type { CqFormat } from './base/flags.js';
import type { Peer } from './base/peer.js';
import { checkWait, type Wait, type WaitOptions } from './base/wait-options.js';
import { native } from './contract/native.js';
import { BoundHandle } from './engine/bound-handle.js';
import { Completion } from './engine/completion.js';
import type { Engine } from './engine/engine.js';
import { Kind } from './engine/requests.js';
import { type Immediate, Immediates, type ImmediatesOptions } from './immediates.js';

const UNCLONEABLE = uncloneable('a CompletionQueue belongs to its thread: open another one there');

/** The options of a completion queue: fi_cq_open, fi_cq(3). */
export interface CompletionQueueOptions {
  /**
   * The number of entries. If omitted: the provider's default, or with efa, whose queues drop
   * completions when they are full, the number of operations that one endpoint can have in flight.
   */
  readonly size?: number;
  /**
   * The fields of completions. If omitted, FI_CQ_FORMAT_TAGGED, or FI_CQ_FORMAT_DATA without tags.
   * The queue has at least the fields of FI_CQ_FORMAT_DATA, because the engine needs them.
   */
  readonly format?: CqFormat;
  /**
   * Whether read() also returns an entry for each remote write with data that arrives, among the
   * completions as fi_cq_read(3) has them. `arrived()` and `immediates()` are then refused. At most
   * 65,536 entries wait: readErrors() then has FI_EOVERRUN, and forgetImmediates() starts over.
   */
  readonly remoteWrites?: boolean;
}

const NAMES = namesOf<CompletionQueueOptions>({ size: 1, format: 1, remoteWrites: 1 });
const STREAM_NAMES = namesOf<ImmediatesOptions>({ limit: 1, signal: 1, timeout: 1 });

// Providers allocate memory for all entries at once.
const MAX_SIZE = 2 ** 24;
const MAX_ERRORS = 1024;
const MAX_ENTRIES = 65_536; // with remote writes, whose number the peers decide
const FORMATS: readonly CqFormat[] = [
  'FI_CQ_FORMAT_UNSPEC',
  'FI_CQ_FORMAT_CONTEXT',
  'FI_CQ_FORMAT_MSG',
  'FI_CQ_FORMAT_DATA',
  'FI_CQ_FORMAT_TAGGED',
];

/** One entry that read() returns. */
export interface QueueEntry {
  /** The `context` option of the operation. Undefined for a remote write that has arrived. */
  readonly context: unknown;
  /** Set if the operation succeeded. */
  readonly completion?: Completion;
  /** Set if the operation failed. */
  readonly error?: FabricError;
}

const REMOTE_WRITE = (1 << 2) | (1 << 13) | (1 << 17); // FI_RMA, FI_REMOTE_WRITE, FI_REMOTE_CQ_DATA

/** The entry of a remote write with data. */
function entryOf(data: bigint, length: number, source: Peer | undefined): QueueEntry {
  const completion = new Completion(length, source, 0, 0n, data, REMOTE_WRITE, 0);
  return { context: undefined, completion };
}

/**
 * A completion queue (fi_cq(3)). The engine of the domain reads it. Operations complete through
 * their promises or batches. Operations that were posted through `endpoint.post` complete through
 * read().
 */
export class CompletionQueue {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /**
   * The number of entries. Undefined if no size was given and the provider has chosen one, which
   * fi_cq_open(3) does not tell.
   */
  readonly size: number | undefined;
  /** The fields of completions: FI_CQ_FORMAT_TAGGED or FI_CQ_FORMAT_DATA. */
  readonly format: CqFormat;
  /** Whether an idle engine can sleep until the queue wakes it. If not, it polls. */
  readonly waitable: boolean;
  /** @internal */
  readonly bound: BoundHandle<'CompletionQueue'>;
  readonly #engine: Engine;
  readonly #queue: number;
  readonly #errors: FabricError[] = [];
  /** @internal Called with each error that belongs to no operation. */
  onError: ((error: FabricError) => void) | undefined;
  readonly #remoteWrites: boolean;
  #full = false; // whether remote writes were not read
  #entries: QueueEntry[] = [];
  #immediates: Immediates | undefined;

  /** @internal */
  constructor(engine: Engine, given: CompletionQueueOptions | undefined) {
    const options = checkOptions('options', given, NAMES);
    const size = checkInteger('options.size', options.size ?? 0, 0, MAX_SIZE);
    const { format } = options;
    if (format !== undefined) oneOf('options.format', format, FORMATS);
    const { remoteWrites = false } = options;
    if (typeof remoteWrites !== 'boolean') {
      throw invalidArgType('options.remoteWrites', 'a boolean', remoteWrites);
    }
    const wait = engine.driver === 'thread';
    const opened = native.cqOpen(engine.handle, { size, format, wait });
    this.#engine = engine;
    this.bound = new BoundHandle('completionQueue', engine, opened.handle);
    this.#queue = opened.queue;
    this.size = opened.size === 0 ? undefined : opened.size;
    this.format = opened.tagged ? 'FI_CQ_FORMAT_TAGGED' : 'FI_CQ_FORMAT_DATA';
    this.waitable = opened.waitable;
    engine.queues.set(opened.queue, this);
    this.#remoteWrites = remoteWrites;
    if (remoteWrites) native.cqStream(opened.handle, MAX_ENTRIES);
    publishOpen('completionQueue', this);
  }

  /** Whether the completion queue or its domain is closed. */
  get closed(): boolean {
    return this.bound.closed;
  }

  /** @internal */
  static is(value: unknown): value is CompletionQueue {
    return typeof value === 'object' && value !== null && #engine in value;
  }

  /**
   * Returns at most `max` completions of operations that were posted through `endpoint.post`, and of
   * remote writes with data if the queue was opened for them. With the manual driver, it turns the
   * engine first.
   *
   * @throws RangeError ERR_OUT_OF_RANGE for `max`. Error ERR_CLOSED if the completion queue is
   * closed.
   */
  read(max = 64): QueueEntry[] {
    this.bound.checkOpen();
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
   * Returns and removes the errors that belong to no operation, at most the last 1024: entries that
   * could not be read from the queue, and errors that endpoints report about themselves. efa, for
   * example, reports a peer whose handshake failed, and the cause that broke an endpoint.
   */
  readErrors(): FabricError[] {
    return this.#errors.splice(0);
  }

  /**
   * Resolves when `count` remote writes with this data have arrived. The engine counts them and
   * wakes JavaScript once. Earlier arrivals count too, unless immediates() has returned them. With
   * the manual driver, the call turns the engine until then.
   *
   * The engine keeps unclaimed arrivals for up to 65,536 values and drops the rest. readErrors()
   * reports the drop, and `stats().lostImmediates` counts it. From then on, arrived() rejects with
   * FI_EOVERRUN if it would wait for an arrival that may have been dropped, until
   * forgetImmediates() is called.
   *
   * @param value the data of the writes, as passed to `writedata`.
   * @throws FabricError FI_EOVERRUN after dropped arrivals; FI_ETIMEDOUT after `options.timeout`;
   * FI_ECANCELED if the completion queue is closed.
   * @throws AbortError, or the signal's reason. Error ERR_CLOSED if the completion queue is closed
   * already.
   */
  arrived(value: bigint | number, count = 1, options: WaitOptions = {}): Promise<void> {
    try {
      this.#checkImmediates();
      check64('value', value);
      checkInteger('count', count, 1);
      return this.#expect(value, count, checkWait(options));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #expect(value: bigint | number, count: number, wait: Wait): Promise<void> {
    const engine = this.#engine;
    const request = engine.begin(Kind.Void, this);
    try {
      native.cqExpect(this.bound.handle, value, count, request);
    } catch (error) {
      engine.abandon(request);
      throw error;
    }
    const promise = engine.requests.promise<void>(request);
    engine.limit(request, promise, wait);
    return engine.settled(promise);
  }

  /**
   * The arrivals of remote writes with data, one by one, in the order in which the provider reports
   * them. While the stream is open, `arrived()` counts only values that it already waits for. A
   * queue has one stream at a time: a second call returns the open one, with its options. When the
   * stream ends, its untaken arrivals count for `arrived()` and for the next stream again.
   *
   * @throws Error ERR_CLOSED if the completion queue is closed. Rejections of next(): see
   * Immediates.
   */
  immediates(options?: ImmediatesOptions): Immediates {
    this.#checkImmediates();
    const wait = this.#engine.holding(checkWait(options, STREAM_NAMES));
    const limit = checkInteger('options.limit', options?.limit ?? 65_536, 1, 2 ** 24);
    if (this.#immediates !== undefined) return this.#immediates;
    this.#immediates = new Immediates(this.#engine, wait, limit, (untaken) =>
      this.#endStream(untaken),
    );
    native.cqStream(this.bound.handle, limit);
    return this.#immediates;
  }

  #checkImmediates(): void {
    this.bound.checkOpen();
    if (this.#remoteWrites) {
      throw invalidState('the queue was opened with remoteWrites: read() returns what arrives');
    }
  }

  #endStream(untaken: Immediate[]): void {
    this.#immediates = undefined;
    if (this.closed) return;
    native.cqStream(this.bound.handle, 0);
    if (untaken.length === 0) return;
    native.cqCount(
      this.bound.handle,
      BigUint64Array.from(untaken, ({ data }) => data),
    );
    this.#engine.drain();
  }

  /**
   * Discards all unclaimed arrivals and clears the record of dropped ones, so that peers can start
   * over. Returns both numbers.
   *
   * @throws Error ERR_CLOSED if the completion queue is closed.
   */
  forgetImmediates(): { counted: number; lost: number } {
    this.bound.checkOpen();
    const forgotten = native.cqForget(this.bound.handle);
    if (this.#full) native.cqStream(this.bound.handle, MAX_ENTRIES);
    this.#full = false;
    return forgotten;
  }

  /** @internal */
  immediate(data: bigint, length: number, source: Peer | undefined): void {
    if (this.#immediates?.push({ data, length, source })) return;
    if (this.closed) return;
    if (this.#remoteWrites && this.#entries.length < MAX_ENTRIES && !this.#full) {
      this.push(entryOf(data, length, source));
      return;
    }
    if (this.#remoteWrites && !this.#full) {
      this.#full = true;
      const detail = `more than ${MAX_ENTRIES} entries were not read; forgetImmediates() starts over`;
      this.unsolicited(new FabricError(errnoByCode.FI_EOVERRUN, 'fi_cq_read', { detail }));
    }
    // The stream is closed or full.
    native.cqStream(this.bound.handle, 0);
    native.cqCount(this.bound.handle, BigUint64Array.of(data));
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
    this.onError?.(error);
  }

  /**
   * Closes the completion queue and the endpoints that use it.
   *
   * @throws FabricError with the code of fi_close(3).
   */
  async close(): Promise<void> {
    if (this.closed) return;
    native.cqClose(this.bound.handle);
    this.end();
  }

  /** @internal Marks the queue as closed, by close() or with its domain. */
  end(): void {
    this.bound.end(this);
    this.#engine.queues.delete(this.#queue);
    this.#immediates?.finish();
  }

  /** Closes the completion queue: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
