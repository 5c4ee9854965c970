import { cancellable } from '../base/cancellation.js';
import type { DriverKind } from '../base/drivers.js';
import { describeErrno, errnoByCode } from '../base/error-codes.js';
import type { FabricError } from '../base/errors.js';
import type { Peer } from '../base/peer.js';
import type { Wait } from '../base/wait-options.js';
import type { Stats } from '../contract/layout.js';
import { CompletionField, Event, STATS, Word } from '../contract/layout.js';
import { type Handle, type NativeDomain, native } from '../contract/native.js';
import type { DomainNames } from './back-pressure.js';
import { BackPressure } from './back-pressure.js';
import { Completions } from './completions.js';
import { Controls } from './controls.js';
import { EarlyEnds } from './early-ends.js';
import { errorOf, unresponsive } from './failure.js';
import { Memory } from './memory.js';
import { Kind, type RequestOwner, Requests } from './requests.js';
import { Runs } from './runs.js';
import { Submissions } from './submissions.js';

export type { DriverKind, Stats };

/** Receives the events that belong to no request. */
export interface QueueListener {
  immediate(data: bigint, length: number, source: Peer | undefined): void;
  overrun(error: FabricError): void;
  unsolicited(error: FabricError): void;
  close(): Promise<void>;
  end(): void;
}

// Open engines are garbage collection roots: an operation in flight must not be collected with the
// objects that started it.
const open = new Set<Engine>();

/** The open engines of this thread. */
export const openEngines = (): Iterable<Engine> => open;

/** The JavaScript half of a domain's engine: writes operations, reads completions. */
export class Engine {
  readonly driver: DriverKind;
  readonly names: DomainNames;
  readonly submissions: Submissions;
  readonly controls: Controls;
  readonly completions: Completions;
  readonly requests = new Requests();
  readonly memory: Memory;
  readonly runs: Runs;
  readonly peers = new Map<number, Peer>();
  readonly queues = new Map<number, QueueListener>();
  /** The shared memory of open regions. Not every runtime lets the addon hold a reference to it. */
  readonly registered = new Map<number, SharedArrayBuffer>();
  readonly handle: Handle<'Domain'>;
  readonly #number: number;
  readonly #native = native.engine;
  readonly #control: Uint32Array;
  readonly #controlF64: Float64Array;
  readonly #stats: BigUint64Array;
  readonly #earlyEnds: EarlyEnds;
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
          throw unresponsive('progress');
        makeRoom(opened.number);
      },
      () => wake(opened.number),
      threaded,
      () => backPressure.publish('ring', 1),
    );
    this.controls = new Controls(this.submissions, (request) => this.abandon(request));
    this.#earlyEnds = new EarlyEnds(
      this.requests,
      (request) => this.cancel(request),
      driver === 'manual' ? () => this.turn() : undefined,
    );
    this.memory = new Memory(opened.handle);
    this.runs = new Runs(this, opened.number, this.#control, this.#controlF64);
    open.add(this);
  }

  get open(): boolean {
    return this.#open;
  }

  /** Whether the engine's thread sleeps until there is work. */
  get asleep(): boolean {
    return this.#control[Word.Sleeping] !== 0;
  }

  /** Starts a request. The event loop stays alive until the request has ended. */
  begin(kind: Kind, owner: unknown): number {
    const request = this.requests.begin(kind, owner);
    this.#control[Word.Pending] = this.requests.pending;
    if (this.requests.pending === 1) this.#holdLoop();
    return request;
  }

  #end(request: number): void {
    this.#earlyEnds.forget(request);
    this.requests.end(request);
    this.#control[Word.Pending] = this.requests.pending;
  }

  /** Ends a request for which no operation was written. */
  abandon(request: number): void {
    if (!this.#open) return; // close() has ended all requests
    this.#end(request);
    this.#letLoopGo();
  }

  #letLoopGo(): void {
    if (this.requests.pending === 0) this.#holdLoop();
  }

  // The native side reads the pending count. A manual driver does not use the event loop.
  #holdLoop(): void {
    if (this.driver !== 'manual') this.#native.ref(this.#number);
  }

  /** The wait of a stream, whose requests keep the event loop alive if the driver lets them. */
  holding(wait: Wait): Wait {
    return this.driver === 'manual' ? wait : { ...wait, unref: true };
  }

  /** Whether pending requests keep the event loop alive. */
  keepLoop(on: boolean): void {
    if (!this.#open) return;
    this.#control[Word.Unref] = on ? 0 : 1;
    this.#earlyEnds.keepLoop(on);
    this.#holdLoop();
  }

  cancel(request: number): void {
    if (!this.#open) return;
    try {
      this.controls.cancel(request);
    } catch {
      // The engine is stuck. Timers and signals call this, so no caller can receive the error.
    }
  }

  /** Manual driver: turns the engine once. */
  turn(): void {
    this.#native.turn(this.#number);
    this.completions.read();
  }

  /**
   * Manual driver: turns the engine until `count` completions have arrived or the timeout is over.
   */
  wait(count: number, milliseconds: number): void {
    this.#controlF64[Word.WaitCount64] = count;
    this.#controlF64[Word.WaitMicroseconds64] = milliseconds * 1000;
    this.#native.wait(this.#number);
    this.completions.read();
  }

  /** Awaits the end of a request. With the manual driver, turns the engine until then. */
  settled<T>(promise: Promise<T>): Promise<T> {
    return this.driver === 'manual' ? cancellable(() => this.#turnUntil(promise)) : promise;
  }

  async #turnUntil<T>(promise: Promise<T>): Promise<T> {
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

  /** Reads the remaining completions of an object that was closed. */
  drain(): void {
    // Processes the operations that were submitted before the close. With the manual driver,
    // nothing else may turn the engine any more.
    if (this.driver === 'manual') while (this.#open && this.backlog().unread > 0) this.turn();
    this.completions.read();
    this.#letLoopGo();
  }

  /** Delivers the completion at u32 index `word` of the ring. */
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
      case Kind.Detached:
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
      this.#settleUnfinished(request, word);
      return;
    }
    if (event === Event.CancelRefused) {
      // The operation is posted and cannot be cancelled. Its promise rejects; the provider keeps
      // its memory.
      const handle = completions.u32[word + CompletionField.Source32] as number;
      const silent = completions.u32[word + CompletionField.Status32] !== 0;
      const about = { peer: this.peers.get(handle), silent };
      if (!this.#earlyEnds.giveUp(request, about) && this.requests.owned(request))
        (this.requests.owner(request) as RequestOwner).cancelRefused?.(request);
      return;
    }
    const listener = this.queues.get(completions.u32[word + CompletionField.Queue32] as number);
    if (event === Event.Immediate) {
      listener?.immediate(
        completions.dataAt(word),
        completions.lengthAt(word),
        completions.sourceAt(word),
      );
    } else if (event === Event.Overrun) {
      listener?.overrun(errorOf(completions.failureAt(word)));
    } else {
      listener?.unsolicited(errorOf(completions.failureAt(word)));
    }
  }

  // The endpoint was closed, but the provider has not finished this operation.
  #settleUnfinished(request: number, word: number): void {
    const { requests } = this;
    if (requests.kind(request) === Kind.Owner) {
      const status = this.completions.u32[word + CompletionField.Status32] as number;
      (requests.owner(request) as RequestOwner).completed(request, status, word);
    } else {
      this.#earlyEnds.leave(request, this.completions.failureAt(word));
    }
    this.#earlyEnds.settled(request);
    requests.detach(request);
    this.#control[Word.Pending] = requests.pending;
    this.#letLoopGo();
  }

  /** Rejects the promise of a request whose failed completion is at `word`. */
  fail(request: number, word: number): void {
    const failure = this.completions.failureAt(word);
    const isCancelled = failure.errno === errnoByCode.FI_ECANCELED;
    if (isCancelled && this.#earlyEnds.giveUp(request, failure)) return;
    this.requests.fail(request, failure);
  }

  /** Lets a signal or a timeout abort a request: see AbortWatch. */
  limit(request: number, promise: Promise<unknown>, wait: Wait, syscall = 'fi_cq_read'): void {
    this.#earlyEnds.limit(request, promise, wait, syscall);
  }

  /** The number of entries that each side of the rings has not read. */
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
   * Stops the engine, closes the remaining objects of the domain, and settles the requests in
   * flight. Returns what could not be freed.
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
      this.#earlyEnds.close();
      for (const queue of this.queues.values()) queue.end();
    }
  }

  #settleAll(): void {
    const failure = {
      errno: errnoByCode.FI_ECANCELED,
      syscall: '', // as isByClose() knows a cancellation by close()
      text: 'the domain was closed',
      provErrno: 0,
    };
    for (const request of this.requests.active()) {
      if (this.requests.owned(request)) {
        (this.requests.owner(request) as RequestOwner).lost(request, failure);
      }
      this.requests.fail(request, failure);
      this.#end(request);
    }
  }
}
