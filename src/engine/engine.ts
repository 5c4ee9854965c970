import { describeErrno, errnoByCode } from '../error-codes.js';
import type { FabricError } from '../errors.js';
import { type Handle, type NativeDomain, native } from '../native.js';
import type { Peer } from '../peer.js';
import type { Rounds } from '../rounds.js';
import type { Wait } from '../wait-options.js';
import { AbortWatch } from './abort.js';
import { BackPressure } from './back-pressure.js';
import { Completions } from './completions.js';
import { Deadlines } from './deadlines.js';
import { errorOf, type Failure, rejectLater, takeFailure } from './failure.js';
import { CompletionField, Event, Op, RUNNING, STATS, Word } from './layout.js';
import { Memory } from './memory.js';
import { Releases } from './releases.js';
import { Kind, type RequestOwner, Requests } from './requests.js';
import { Submissions } from './submissions.js';
import { unresponsive } from './unresponsive.js';

/** Who turns the engine: a native thread, the event loop, or the caller. */
export type DriverKind = 'thread' | 'loop' | 'manual';

/** What a domain's engine has done since it was opened. */
export type Stats = { readonly [Name in (typeof STATS)[number]]: number };

/** Told of what belongs to no request. */
export interface QueueListener {
  immediate(data: bigint, length: number): void;
  overrun(error: FabricError): void;
  unsolicited(error: FabricError): void;
  close(): Promise<void>;
  end(): void;
}

const NO_REQUEST = 0xffff_ffff;
/** What a request that is taken back has to end by itself. */
const GRACE_MS = 25;

// Open engines are roots: what is in flight must not be collected with the objects that started it.
const open = new Set<Engine>();

/** The engines of this thread. */
export const openEngines = (): Iterable<Engine> => open;

/** What a domain goes by: `info.fabricAttr` and `info.domainAttr`. */
export interface DomainNames {
  readonly fabric: string | null;
  readonly domain: string | null;
  readonly provider: string | null;
}

/** The JavaScript half of a domain's engine: writes operations, reads completions. */
export class Engine {
  readonly driver: DriverKind;
  readonly names: DomainNames;
  readonly submissions: Submissions;
  readonly completions: Completions;
  readonly requests = new Requests();
  readonly memory: Memory;
  readonly peers = new Map<number, Peer>();
  readonly queues = new Map<number, QueueListener>();
  /** Shared memory of open regions: not every runtime lets the addon hold it. */
  readonly registered = new Map<number, SharedArrayBuffer>();
  readonly handle: Handle<'Domain'>;
  readonly #number: number;
  readonly #native = native.engine;
  readonly #control: Uint32Array;
  readonly #controlF64: Float64Array;
  readonly #stats: BigUint64Array;
  readonly #releases = new Releases();
  readonly #aborts = new AbortWatch(
    (request) => this.#takeBack(request),
    (request) => this.#releases.end(request),
  );
  readonly #deadlines = new Deadlines((request) => this.#takeBack(request));
  #open = true;

  constructor(
    openNative: (drain: () => void) => NativeDomain,
    driver: DriverKind,
    names: DomainNames,
  ) {
    const opened = openNative(() => this.completions.read());
    this.#number = opened.number;
    this.driver = driver;
    this.names = names;
    this.handle = opened.handle;
    this.#control = new Uint32Array(opened.control);
    this.#controlF64 = new Float64Array(opened.control);
    this.#stats = new BigUint64Array(opened.control, Word.Stats64 * 8, STATS.length);
    const backPressure = new BackPressure(this.#stats, names, driver);
    const threaded = driver === 'thread';
    this.completions = new Completions(
      this.#control,
      opened.completions,
      this,
      threaded,
      backPressure,
    );
    const { yield: letEngineWork, turn, wake } = this.#native;
    const makeRoom = threaded ? letEngineWork : turn;
    this.submissions = new Submissions(
      this.#control,
      opened.submissions,
      (milliseconds) => {
        if (milliseconds > 50 && native.domainOverdue(opened.handle, milliseconds))
          throw unresponsive('');
        makeRoom(opened.number);
      },
      () => wake(opened.number),
      threaded,
      () => backPressure.tell('ring', 1),
    );
    this.memory = new Memory(opened.handle);
    open.add(this);
  }

  get open(): boolean {
    return this.#open;
  }

  /** Whether its thread sleeps until there is something to do. */
  get asleep(): boolean {
    return this.#control[Word.Sleeping] !== 0;
  }

  /** Takes a request; the event loop stays alive until it has ended. */
  begin(kind: Kind, owner: unknown): number {
    const request = this.requests.begin(kind, owner);
    this.#control[Word.Pending] = this.requests.pending;
    if (this.requests.pending === 1) this.#holdLoop();
    return request;
  }

  #end(request: number): void {
    this.#aborts.forget(request);
    this.#deadlines.forget(request);
    this.#releases.forget(request);
    this.requests.end(request);
    this.#control[Word.Pending] = this.requests.pending;
  }

  /** A request that no operation was written for after all. */
  abandon(request: number): void {
    this.#end(request);
    this.#letLoopGo();
  }

  #letLoopGo(): void {
    if (this.requests.pending === 0) this.#holdLoop();
  }

  // The native side looks at the pending count; a manual driver has nothing on the event loop.
  #holdLoop(): void {
    if (this.driver !== 'manual') this.#native.ref(this.#number);
  }

  /** Submits an operation without buffers: the end of something, or a cancellation. */
  control(code: Op, request: number, endpoint: number, peer: number, memory: number, length = 0) {
    let at: number;
    try {
      at = this.submissions.reserve(0);
    } catch (error) {
      if (request !== NO_REQUEST) this.abandon(request);
      throw error;
    }
    this.submissions.entries.put(at, code, 0, 0, request, endpoint, peer, memory, 0, 0, length);
    this.submissions.commit();
  }

  cancel(request: number): void {
    if (!this.#open) return;
    try {
      this.control(Op.Cancel, NO_REQUEST, 0, 0, request);
    } catch {
      // The engine is stuck. Timers and signals call this, and there is nobody to tell.
    }
  }

  // The caller is told soon, whatever the engine is at: it may be in a call that takes long, or be
  // turned by nobody.
  #takeBack(request: number): void {
    this.cancel(request);
    setTimeout(() => this.#giveUp(request), GRACE_MS);
  }

  /** One turn by the caller: manual driver. */
  turn(): void {
    this.#native.turn(this.#number);
    this.completions.read();
  }

  /** Turns until `count` completions are there or the time is over: manual driver. */
  wait(count: number, milliseconds: number): void {
    this.#controlF64[Word.WaitCount64] = count;
    this.#controlF64[Word.WaitMicroseconds64] = milliseconds * 1000;
    this.#native.wait(this.#number);
    this.completions.read();
  }

  /**
   * Submits a batch and turns until its rounds have ended: manual driver. Returns its status, or
   * RUNNING when a round took longer than `milliseconds`: then that goes on as a request of its owner.
   */
  run(
    owner: RequestOwner,
    endpoint: number,
    batch: number,
    version: number,
    entries: number,
    milliseconds: number,
    rounds: Rounds,
  ): number {
    const control = this.#control;
    const controlF64 = this.#controlF64;
    control[Word.RunEndpoint] = endpoint;
    control[Word.RunBatch] = batch;
    control[Word.RunEntries] = entries;
    controlF64[Word.RunVersion64] = version;
    controlF64[Word.RunTimes64] = rounds.times;
    controlF64[Word.RunSpan64] = rounds.span;
    control[Word.RunEvery] = rounds.every;
    controlF64[Word.RunSamples64] = rounds.samples === undefined ? 0 : rounds.samples.length;
    controlF64[Word.WaitMicroseconds64] = milliseconds * 1000;
    this.#native.run(this.#number);
    const status = control[Word.RunStatus] as number;
    if (status === RUNNING) {
      this.#controlF64[Word.WaitCount64] = this.begin(Kind.Owner, owner);
      this.#native.adopt(this.#number);
    }
    if (control[Word.CompletionTail] !== this.completions.head) this.completions.read();
    return status;
  }

  /** Rounds that the last run() has completed. */
  get rounds(): number {
    return this.#controlF64[Word.RunRounds64] as number;
  }

  /** Why the last run() failed. */
  runFailure(errno: number): Failure {
    const key = this.#control[Word.RunError] as number;
    return takeFailure(this.handle, this.peers, errno, key);
  }

  /** Awaits the end of a request; with the manual driver, turns for it. */
  async settled<T>(promise: Promise<T>): Promise<T> {
    if (this.driver !== 'manual') return promise;
    let done = false;
    const finish = () => {
      done = true;
    };
    promise.then(finish, finish);
    while (!done && this.#open) {
      this.turn();
      await new Promise(setImmediate);
    }
    return promise;
  }

  /** Reads the completions of something that was closed. */
  drain(): void {
    // What was submitted to it before: with the manual driver, perhaps nobody turns any more.
    if (this.driver === 'manual') while (this.#open && this.backlog().unread > 0) this.turn();
    this.completions.read();
    this.#letLoopGo();
  }

  /** Tells whom the completion at u32 index `word` of the ring concerns. */
  deliver(word: number): void {
    const { u32 } = this.completions;
    const event = u32[word + CompletionField.Event32] as Event;
    if (event !== Event.Operation) {
      this.#deliverEvent(event, word);
      return;
    }
    const request = u32[word + CompletionField.Request32] as number;
    const status = u32[word + CompletionField.Status32] as number;
    const { requests } = this;
    switch (requests.kind(request)) {
      case Kind.Owner:
        (requests.owner(request) as RequestOwner).completed(request, status, word);
        break;
      case Kind.Completion:
        if (status === 0) requests.resolve(request, this.completions.at(word));
        else this.fail(request, word);
        break;
      case Kind.Claim:
        if (status === 0) requests.resolve(request, this.completions.claimAt(word));
        else this.fail(request, word);
        break;
      case Kind.Left:
        if (status !== 0) this.completions.failureAt(word);
        break;
      default:
        if (status === 0) requests.resolve(request);
        else this.fail(request, word);
    }
    this.#end(request);
  }

  #deliverEvent(event: Event, word: number): void {
    const { completions } = this;
    const request = completions.u32[word + CompletionField.Request32] as number;
    if (event === Event.Partial) {
      (this.requests.owner(request) as RequestOwner).completed(request, 0, word);
      return;
    }
    if (event === Event.Left) {
      this.#leave(request, word);
      return;
    }
    if (event === Event.CancelRefused) {
      // Posted, and not to be recalled: the caller is free, the memory stays with the provider.
      if (!this.#giveUp(request) && this.requests.owned(request))
        (this.requests.owner(request) as RequestOwner).cancelRefused?.(request);
      return;
    }
    const listener = this.queues.get(completions.u32[word + CompletionField.Queue32] as number);
    if (event === Event.Immediate) {
      listener?.immediate(completions.dataAt(word), completions.lengthAt(word));
    } else if (event === Event.Overrun) {
      listener?.overrun(errorOf(completions.failureAt(word)));
    } else {
      listener?.unsolicited(errorOf(completions.failureAt(word)));
    }
  }

  // The endpoint was closed, and the provider is not done with this operation.
  #leave(request: number, word: number): void {
    const { requests } = this;
    if (requests.kind(request) === Kind.Owner) {
      const status = this.completions.u32[word + CompletionField.Status32] as number;
      (requests.owner(request) as RequestOwner).completed(request, status, word);
    } else {
      const failure = this.completions.failureAt(word);
      const released = this.#releases.end(request);
      if (!this.#giveUp(request)) this.#reject(request, { ...failure, released });
    }
    this.#aborts.forget(request);
    this.#deadlines.forget(request);
    requests.leave(request);
    this.#control[Word.Pending] = requests.pending;
    this.#letLoopGo();
  }

  /** Rejects the promise of a request whose failed completion is at `word`. */
  fail(request: number, word: number): void {
    const failure = this.completions.failureAt(word);
    if (failure.errno === errnoByCode.FI_ECANCELED && this.#giveUp(request)) return;
    this.#reject(request, failure);
  }

  // Tells the caller of a request that was aborted or is overdue, whether it has ended or not.
  #giveUp(request: number): boolean {
    const reason = this.#aborts.reasonOf(request);
    const late = this.#deadlines.failureOf(request);
    if (reason !== undefined) this.requests.reject(request, reason);
    else if (late !== undefined) {
      this.#reject(request, { ...late, released: this.#releases.end(request) });
    }
    return reason !== undefined || late !== undefined;
  }

  // An error is made only where somebody waits: a rejection of nobody's would end the process.
  #reject(request: number, failure: Failure): void {
    if (this.requests.awaited(request)) this.requests.resolve(request, rejectLater(failure));
  }

  /** Lets a signal abort a request with its promise, or the time: see AbortWatch. */
  limit(
    request: number,
    promise: Promise<unknown>,
    { signal, timeout }: Wait,
    syscall = 'fi_cq_read',
  ): void {
    if (signal === undefined && timeout === undefined) return;
    this.#releases.watch(request, promise);
    if (signal !== undefined) this.#aborts.watch(request, signal);
    if (timeout !== undefined) this.#deadlines.watch(request, timeout, syscall);
  }

  /** What each side of the rings has not read. */
  backlog(): { unread: number; undelivered: number } {
    const word = (at: Word) => this.#control[at] as number;
    return {
      unread: (word(Word.SubmissionTail) - word(Word.SubmissionHead)) >>> 0,
      undelivered: (word(Word.CompletionTail) - word(Word.CompletionHead)) >>> 0,
    };
  }

  stats(): Stats {
    const values = STATS.map((name, i) => [name, Number(this.#stats[i])]);
    return Object.freeze(Object.fromEntries(values)) as Stats;
  }

  /**
   * Stops the engine and closes what is left under the domain; settles what was in flight. Returns
   * what could not be freed.
   */
  close(): { endpoints: number; refused: string | null } {
    if (!this.#open) return { endpoints: 0, refused: null };
    try {
      const { endpoints, refused } = native.domainClose(this.handle);
      return { endpoints, refused: refused === 0 ? null : describeErrno(refused).code };
    } finally {
      this.#open = false;
      this.drain();
      open.delete(this);
      this.#settleAll();
      for (const queue of this.queues.values()) queue.end();
    }
  }

  #settleAll(): void {
    const failure = {
      errno: errnoByCode.FI_ECANCELED,
      syscall: '',
      text: 'the domain was closed',
      provErrno: 0,
    };
    for (const request of this.requests.active()) {
      this.#reject(request, failure);
      this.#end(request);
    }
  }
}
