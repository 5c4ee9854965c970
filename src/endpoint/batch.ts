import { checkMilliseconds, checkNames } from '../base/checks.js';
import { uncloneable } from '../base/describe.js';
import { errnoByCode } from '../base/error-codes.js';
import { closed, FabricError, invalidArgValue, invalidState, invalidThis } from '../base/errors.js';
import { isArray } from '../base/objects.js';
import { checkWait, type WaitOptions } from '../base/wait-options.js';
import { Op, RUNNING } from '../contract/layout.js';
import type { NativeRoundEvents } from '../contract/native.js';
import type { Engine } from '../engine/engine.js';
import { errorOf, type Failure } from '../engine/failure.js';
import { Kind } from '../engine/requests.js';
import { ONE_ROUND, type Rounds } from '../engine/round-times.js';
import type { Sink } from '../engine/submissions.js';
import type { AtomicQueries } from './atomic.js';
import { BatchList } from './batch-list.js';
import type { BatchUpdate } from './batch-update.js';
import {
  checkRounds,
  type RoundOptions,
  RUN_NAMES,
  type RunOptions,
  SUBMIT_NAMES,
} from './rounds.js';
import { type CheckedOptions, checkIdleNames, type Limits, refuseWait } from './target.js';

export type { BatchUpdate, RoundOptions, RunOptions };

const UNCLONEABLE = uncloneable('a Batch belongs to its endpoint: make another one there');
const RUN_TIMEOUT = 10_000;

/**
 * A list of operations of one endpoint that is built once and submitted any number of times. A
 * submission is one native call, which sets FI_MORE on all operations of a run except the last.
 * With efa it does not, because efa may hold such operations back: set the flag where you want it.
 * The engine counts the completions, and one promise settles the submission. Submitting again costs
 * JavaScript nothing per operation.
 *
 * The calls are those of the endpoint. Each returns the operation's index, for update(). Receives
 * are posted before sends, except that a single send of an FI_EP_RDM endpoint is posted first: its
 * reply then comes earlier. The buffers belong to the batch until close() or clear(), and must not
 * be changed while the batch is in flight. Several submissions may be in flight at once.
 *
 * Each call throws what the same call of the endpoint rejects with, and Error ERR_INVALID_STATE
 * while the batch is in flight.
 */
export class BatchBase {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /** @internal */
  readonly limits: Limits;
  /** @internal */
  readonly atomicQueries: AtomicQueries;
  /** @internal */
  readonly sink: Sink;
  readonly #engine: Engine;
  readonly #list: BatchList;
  #inFlight = 0;
  /** The rounds of each request that has any. */
  readonly #rounds = new Map<number, Rounds>();
  #roundsOfRun = 0;
  // The failure of a run() that timed out first.
  #failure: FabricError | undefined;
  #closed = false;

  /** @internal */
  constructor(limits: Limits, atomicQueries: AtomicQueries) {
    this.limits = limits;
    this.atomicQueries = atomicQueries;
    this.#engine = limits.engine;
    this.#list = new BatchList(this.#engine);
    this.sink = this.#list;
  }

  /** The number of operations in the batch. */
  get size(): number {
    return this.#list.size;
  }

  /** The number of submissions that have not completed. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Whether the batch, its endpoint or its domain is closed. */
  get closed(): boolean {
    return this.#closed || this.limits.isClosed || !this.#engine.open;
  }

  /** The number of rounds that the last run() completed, even if it threw. */
  get rounds(): number {
    return this.#roundsOfRun;
  }

  /** @internal */
  begin(kind: Kind, owner: unknown, options: CheckedOptions | undefined): number {
    if (this.#inFlight > 0 || this.#closed) this.#checkIdle();
    if (options !== undefined) checkBatchOptions(kind, options);
    return this.#list.begin(owner);
  }

  /** @internal */
  withdraw(): void {}

  /** @internal */
  finish(request: number): number {
    return request;
  }

  /** @internal */
  refuse(error: unknown): never {
    throw #engine in this ? error : invalidThis('a Batch');
  }

  /**
   * Changes an operation for later submissions.
   *
   * @throws TypeError ERR_INVALID_ARG_VALUE for a field that this kind of operation does not have.
   * RangeError ERR_OUT_OF_RANGE, FabricError FI_EMSGSIZE for a length beyond the endpoint's limits.
   * @throws Error ERR_INVALID_STATE while the batch is in flight, ERR_CLOSED after close().
   */
  update(index: number, change: BatchUpdate): void {
    this.#checkIdle();
    this.#list.update(index, change, this.limits);
  }

  /**
   * Removes all operations.
   *
   * @throws Error ERR_INVALID_STATE while the batch is in flight, ERR_CLOSED after close().
   */
  clear(): void {
    this.#checkIdle();
    this.#list.clear();
  }

  /**
   * Submits all operations. Resolves when all of them have completed. If one fails, rejects with
   * the first failure after the others have completed too.
   *
   * If the timeout or the signal ends the wait, unposted operations are removed and posted receives
   * are cancelled. Posted sends and RMA operations cannot be cancelled: the promise rejects, and
   * the batch stays in flight until they complete.
   *
   * With {@link RoundOptions}, the engine posts the batch repeatedly, and the promise resolves with
   * the number of completed rounds.
   *
   * @throws FabricError with the code of the first operation that failed, and its `index`;
   * FI_ETIMEDOUT after `options.timeout`; FI_ECANCELED if the endpoint or the domain is closed
   * first.
   * @throws AbortError, or the signal's reason. Error ERR_CLOSED, or ERR_INVALID_STATE for an empty
   * batch.
   */
  submit(options?: WaitOptions & { [Option in keyof RoundOptions]?: never }): Promise<void>;
  submit(options: WaitOptions & RoundOptions): Promise<number>;
  submit(options?: WaitOptions & RoundOptions): Promise<unknown> {
    try {
      let wait = options === undefined ? undefined : checkWait(options, SUBMIT_NAMES);
      const rounds = options === undefined ? undefined : checkRounds(options, this.#engine.memory);
      this.#checkReady(rounds?.events);
      if (rounds !== undefined) this.#prepare(rounds);
      const { timeout } = this.limits;
      if (timeout !== undefined && rounds === undefined) {
        wait = { signal: wait?.signal, timeout: wait?.timeout ?? timeout };
      }
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
   * Manual driver: in one native call, submits all operations and turns the engine until all rounds
   * have completed. Returns the number of completed rounds.
   *
   * @param options or the timeout of a round in milliseconds. After a timeout the operations of the
   * round are still in flight: resume() waits for them.
   * @throws FabricError with the code of the first operation that failed, and its `index`;
   * FI_ETIMEDOUT if a round takes longer than the timeout.
   * @throws Error ERR_INVALID_STATE with another driver or for an empty batch, ERR_CLOSED.
   */
  run(options: number | RunOptions = RUN_TIMEOUT): number {
    let timeout = RUN_TIMEOUT;
    let rounds = ONE_ROUND;
    if (typeof options !== 'object' || options === null || isArray(options)) {
      timeout = options as number;
    } else {
      checkNames('options', options, RUN_NAMES);
      rounds = checkRounds(options, this.#engine.memory) ?? ONE_ROUND;
      if (options.timeout !== undefined) timeout = options.timeout;
    }
    this.#checkManual(timeout);
    this.#checkReady(rounds.events);
    if (rounds !== ONE_ROUND) this.#prepare(rounds);
    this.#inFlight++;
    const { runs } = this.#engine;
    const status = runs.run(this, this.limits.handle, this.#list, timeout, rounds);
    this.#roundsOfRun = runs.rounds;
    if (status === RUNNING) throw timedOut(timeout);
    this.#inFlight--;
    if (status !== 0) throw errorOf(runs.failure(status));
    if (rounds !== ONE_ROUND) this.#list.times.give(rounds, this.#roundsOfRun);
    return this.#roundsOfRun;
  }

  /**
   * Manual driver: after a run() that timed out, turns the engine until its operations have
   * completed.
   *
   * @param timeout milliseconds.
   * @throws FabricError FI_ETIMEDOUT after the timeout, with the operations still in flight; or the
   * failure that run() would have thrown. Error ERR_INVALID_STATE with another driver.
   */
  resume(timeout = 10_000): void {
    this.#checkManual(timeout);
    const deadline = performance.now() + timeout;
    while (this.#inFlight > 0) {
      const remaining = deadline - performance.now();
      if (remaining <= 0) throw timedOut(timeout);
      this.#engine.wait(1, remaining);
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
    if (this.#list.size === 0 && events === undefined) throw invalidState('the batch is empty');
  }

  #prepare(rounds: Rounds): void {
    if (rounds.samples === undefined && rounds.events === undefined) return;
    this.#checkIdle();
    this.#list.times.prepare(this.#engine.handle, this.#list.handle, rounds);
  }

  #post(request: number, rounds: Rounds | undefined): void {
    const { submissions } = this.#engine;
    const at = submissions.reserve(0);
    const { entries } = submissions;
    entries.begin(at, Op.Submit, request, this.limits.handle);
    entries.setBatch(at, this.#list.handle, this.#list.version, this.#list.used);
    if (rounds !== undefined) {
      this.#rounds.set(request, rounds);
      entries.setRounds(at, rounds.times, rounds.span);
      entries.setSamples(at, rounds.every, rounds.samples?.length ?? 0);
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
      // A run() that timed out.
      if (status !== 0) this.#failure ??= errorOf(completions.failureAt(word));
    } else if (status !== 0) {
      this.#engine.fail(request, word);
    } else if (rounds === undefined) {
      requests.resolve(request);
    } else {
      const done = completions.roundsAt(word);
      this.#list.times.give(rounds, done);
      requests.resolve(request, done);
    }
  }

  /** @internal */
  lost(request: number, failure: Failure): void {
    this.#inFlight--;
    this.#rounds.delete(request);
    if (!this.#engine.requests.promised(request)) this.#failure ??= errorOf(failure);
  }

  /**
   * Frees the batch's memory.
   *
   * @throws Error ERR_INVALID_STATE while the batch is in flight.
   */
  close(): void {
    if (this.#closed) return;
    this.#checkIdle();
    this.#closed = true;
    this.#list.close();
  }

  /** Frees the batch's memory: `using`. */
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

function checkBatchOptions(kind: Kind, options: CheckedOptions): void {
  refuseWait(options, 'is for single operations, and for submit()');
  checkIdleNames(options);
  if (kind === Kind.Claim) {
    throw invalidArgValue('options.flags', 'with FI_CLAIM need a promise: use endpoint.trecv()');
  }
}
