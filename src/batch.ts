import { type BatchUpdate, updateEntry } from './batch-update.js';
import { checkInteger, checkMilliseconds } from './checks.js';
import type { AtomicQueries } from './endpoint/atomic.js';
import { type Chosen, type Limits, refuseWait, type Target } from './endpoint/target.js';
import type { Engine } from './engine/engine.js';
import { Entries } from './engine/entries.js';
import { errorOf } from './engine/failure.js';
import { ENTRY_F64, Op, OpField, RUNNING } from './engine/layout.js';
import { Kind, type RequestOwner } from './engine/requests.js';
import type { Sink } from './engine/submissions.js';
import { errnoByCode } from './error-codes.js';
import {
  closed,
  FabricError,
  invalidArgType,
  invalidArgValue,
  invalidState,
  invalidThis,
} from './errors.js';
import { type NativeRoundEvents, native } from './native.js';
import {
  checkRounds,
  ONE_ROUND,
  type RoundOptions,
  type Rounds,
  RoundTimes,
  type RunOptions,
} from './rounds.js';
import { checkWait, type WaitOptions } from './wait-options.js';

export type { BatchUpdate, RoundOptions, RunOptions };

const FIRST_ENTRIES = 64;
const RUN_TIMEOUT = 10_000;

const forget = new FinalizationRegistry<{ engine: Engine; batch: number }>(({ engine, batch }) => {
  if (engine.open) native.batchDestroy(engine.handle, batch);
});

/**
 * A list of operations of one endpoint that is built once and submitted as often as wanted: posted
 * natively in one call, with FI_MORE on all but the last of a run (except with efa, which may keep
 * such operations back: name the flag where you want it), counted natively, and settled by one
 * promise. An operation costs JavaScript nothing when its batch is submitted again.
 *
 * Its calls are the endpoint's own; each returns the operation's index, for update(). Receives are
 * posted before sends. The buffers belong to the batch until close() or clear(), and must be left
 * alone while it is in flight. Several submissions may be in flight at once.
 */
export class BatchBase implements Target, Sink, RequestOwner {
  readonly limits: Limits;
  /** @internal */
  readonly atomicQueries: AtomicQueries;
  readonly #engine: Engine;
  readonly #owners: unknown[] = [];
  /** Entry at which an operation starts, by its index. */
  readonly #starts: number[] = [];
  #entries: Entries;
  #batch: number;
  #used = 0;
  #next = 0;
  // Of the operation that is being written.
  #owner: unknown;
  // The lists below may be longer than this: clear() keeps their room.
  #size = 0;
  // Tells the engine when to look at the operations anew.
  #version = 1;
  #inFlight = 0;
  #times = new RoundTimes();
  /** The rounds of requests that have asked for some. */
  readonly #rounds = new Map<number, Rounds>();
  #roundsOfRun = 0;
  // Of a run() whose time was over before it failed.
  #failure: FabricError | undefined;
  #closed = false;

  /** @internal */
  constructor(limits: Limits, atomicQueries: AtomicQueries) {
    this.limits = limits;
    this.atomicQueries = atomicQueries;
    this.#engine = limits.engine;
    const created = native.batchCreate(this.#engine.handle, FIRST_ENTRIES);
    this.#entries = new Entries(created.buffer);
    this.#batch = created.batch;
    forget.register(this, { engine: this.#engine, batch: this.#batch }, this);
  }

  /** Operations in the batch. */
  get size(): number {
    return this.#size;
  }

  /** Submissions that have not completed. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Rounds that the last run() has completed, also where it has thrown. */
  get rounds(): number {
    return this.#roundsOfRun;
  }

  /** @internal */
  get sink(): Sink {
    return this;
  }

  /** @internal */
  get entries(): Entries {
    return this.#entries;
  }

  /** @internal */
  begin(kind: Kind, owner: unknown, options: Chosen | undefined): number {
    if (this.#inFlight > 0 || this.#closed) this.#checkIdle();
    if (options !== undefined) checkChosen(kind, options);
    this.#owner = owner;
    return this.#size;
  }

  /** @internal */
  reserve(blocks: number): number {
    this.#next = this.#used + 1 + blocks;
    if (this.#next > this.#entries.capacity) this.#grow(this.#next);
    return this.#used;
  }

  /** @internal */
  commit(): void {
    this.#owners[this.#size] = this.#owner;
    this.#starts[this.#size++] = this.#used;
    this.#version++;
    this.#used = this.#next;
  }

  /** @internal */
  finish(_kind: Kind, request: number): number {
    return request;
  }

  /** @internal */
  refuse(error: unknown): never {
    throw #engine in this ? error : invalidThis('a Batch');
  }

  #grow(needed: number): void {
    const capacity = Math.max(needed, this.#entries.capacity * 2);
    const created = native.batchCreate(this.#engine.handle, capacity);
    const grown = new Entries(created.buffer);
    grown.u8.set(this.#entries.u8);
    native.batchDestroy(this.#engine.handle, this.#batch);
    forget.unregister(this);
    this.#entries = grown;
    this.#batch = created.batch;
    this.#times = new RoundTimes();
    forget.register(this, { engine: this.#engine, batch: this.#batch }, this);
  }

  /** Changes an operation for the submissions to come. */
  update(index: number, change: BatchUpdate): void {
    this.#checkIdle();
    checkInteger('index', index, 0, this.size - 1);
    if (change === undefined) throw invalidArgType('change', 'an object', change);
    const start = this.#starts[index] as number;
    // The engine takes a tag from the list at every submission.
    if (updateEntry(this.#entries, start, this.limits, change)) this.#version++;
  }

  /** Takes all operations out. */
  clear(): void {
    this.#checkIdle();
    this.#owners.fill(undefined, 0, this.#size);
    this.#size = 0;
    this.#used = 0;
    this.#version++;
  }

  /**
   * Submits all operations. Resolves when all have completed; rejects with the first failure, after
   * the rest has completed too.
   *
   * Where the wait ends before, what is not posted is taken back and posted receives are cancelled.
   * Sends and RMA that are posted can't be recalled: the promise rejects, and the batch stays in
   * flight until they complete.
   *
   * With {@link RoundOptions} the batch is posted again and again, natively, and the promise
   * resolves with the number of rounds that were completed.
   */
  submit(options?: WaitOptions & { [Option in keyof RoundOptions]?: never }): Promise<void>;
  submit(options: WaitOptions & RoundOptions): Promise<number>;
  submit(options?: WaitOptions & RoundOptions): Promise<unknown> {
    try {
      const wait = options === undefined ? undefined : checkWait(options);
      const rounds = options === undefined ? undefined : checkRounds(options, this.#engine.memory);
      this.#checkReady(rounds?.events);
      if (rounds !== undefined) this.#prepare(rounds);
      const request = this.#begin();
      const promise = this.#engine.requests.promise<unknown>(request);
      if (wait !== undefined) this.#engine.limit(request, promise, wait);
      this.#post(request, rounds);
      return promise;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Manual driver: submits all operations and turns the engine until they have completed, as many
   * rounds as the options ask for, in one native call. Returns the rounds that were completed.
   *
   * @param options or the milliseconds that a round may take: FI_ETIMEDOUT afterwards, with the
   * round's operations still in flight; resume() goes on with them.
   */
  run(options: number | RunOptions = RUN_TIMEOUT): number {
    let timeout = RUN_TIMEOUT;
    let rounds = ONE_ROUND;
    if (typeof options !== 'object' || options === null || Array.isArray(options)) {
      timeout = options as number;
    } else {
      rounds = checkRounds(options, this.#engine.memory) ?? ONE_ROUND;
      timeout = options.timeout ?? RUN_TIMEOUT;
    }
    this.#checkManual(timeout);
    this.#checkReady(rounds.events);
    if (rounds !== ONE_ROUND) this.#prepare(rounds);
    this.#inFlight++;
    const endpoint = this.limits.handle;
    const status = this.#engine.run(
      this,
      endpoint,
      this.#batch,
      this.#version,
      this.#used,
      timeout,
      rounds,
    );
    this.#roundsOfRun = this.#engine.rounds;
    if (status === RUNNING) throw timedOut(timeout);
    this.#inFlight--;
    if (status !== 0) throw errorOf(this.#engine.runFailure(status));
    if (rounds !== ONE_ROUND) this.#times.give(rounds, this.#roundsOfRun);
    return this.#roundsOfRun;
  }

  /**
   * Manual driver: turns the engine until what is in flight has completed, after a run() that has
   * thrown FI_ETIMEDOUT. Throws what that run() would have thrown.
   *
   * @param timeout milliseconds; FI_ETIMEDOUT afterwards, with the operations still in flight.
   */
  resume(timeout = 10_000): void {
    this.#checkManual(timeout);
    const deadline = performance.now() + timeout;
    while (this.#inFlight > 0) {
      const left = deadline - performance.now();
      if (left <= 0) throw timedOut(timeout);
      this.#engine.wait(1, left);
    }
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
  }

  #checkManual(timeout: number): void {
    checkMilliseconds('timeout', timeout);
    if (this.#engine.driver === 'manual') return;
    throw invalidState('run() needs the manual driver; use submit()');
  }

  #begin(): number {
    const request = this.#engine.begin(Kind.Owner, this);
    this.#inFlight++;
    return request;
  }

  #checkReady(events?: NativeRoundEvents): void {
    this.#checkOpen();
    if (this.limits.isClosed) throw closed('the endpoint');
    if (this.#size === 0 && events === undefined) throw invalidState('the batch is empty');
  }

  #prepare(rounds: Rounds): void {
    if (rounds.samples === undefined && rounds.events === undefined) return;
    this.#checkIdle();
    this.#times.prepare(this.#engine.handle, this.#batch, rounds);
  }

  #post(request: number, rounds: Rounds | undefined): void {
    const { submissions } = this.#engine;
    const at = submissions.reserve(0);
    const { entries } = submissions;
    const endpoint = this.limits.handle;
    const version = this.#version;
    const every = rounds === undefined ? 0 : rounds.every;
    entries.put(at, Op.Submit, 0, 0, request, endpoint, 0, this.#batch, every, version, this.#used);
    if (rounds !== undefined) {
      this.#rounds.set(request, rounds);
      const wide = at * ENTRY_F64;
      entries.f64[wide + OpField.Tag64] = rounds.times;
      entries.f64[wide + OpField.Data64] = rounds.span;
      entries.u64[wide + OpField.Flags64] = BigInt(rounds.samples?.length ?? 0);
    }
    submissions.commit();
  }

  /** @internal */
  completed(request: number, status: number, word: number): void {
    this.#inFlight--;
    const { requests, completions } = this.#engine;
    const rounds = this.#rounds.size === 0 ? undefined : this.#rounds.get(request);
    if (rounds !== undefined) this.#rounds.delete(request);
    if (!requests.promised(request)) {
      // Of a run() whose time was over.
      if (status !== 0) this.#failure ??= errorOf(completions.failureAt(word));
    } else if (status !== 0) {
      this.#engine.fail(request, word);
    } else if (rounds === undefined) {
      requests.resolve(request);
    } else {
      const done = completions.roundsAt(word);
      this.#times.give(rounds, done);
      requests.resolve(request, done);
    }
  }

  /** Frees the batch's memory. */
  close(): void {
    if (this.#closed) return;
    this.#checkIdle();
    this.#closed = true;
    forget.unregister(this);
    this.#owners.length = 0;
    if (this.#engine.open) native.batchDestroy(this.#engine.handle, this.#batch);
  }

  /** Closes it: `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  #checkOpen(): void {
    if (this.#closed) throw closed('the batch');
  }

  #checkIdle(): void {
    this.#checkOpen();
    if (this.#inFlight > 0) throw invalidState('the batch is in flight');
  }
}

const timedOut = (timeout: number) =>
  new FabricError(errnoByCode.FI_ETIMEDOUT, 'run', { detail: `not completed after ${timeout} ms` });

function checkChosen(kind: Kind, options: Chosen): void {
  refuseWait(options, 'is for single operations, and for submit()');
  if (kind === Kind.Claim) {
    throw invalidArgValue('options.flags', 'with FI_CLAIM need a promise: use endpoint.trecv()');
  }
}
