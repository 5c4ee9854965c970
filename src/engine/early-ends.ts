import { SILENT_PEER } from '../base/error-hints.js';
import type { Wait } from '../base/wait-options.js';
import { AbortWatch } from './abort.js';
import { Deadlines } from './deadlines.js';
import type { Failure } from './failure.js';
import { Releases } from './releases.js';
import { Kind, type Requests } from './requests.js';

/** Milliseconds that a cancelled request has to end before its promise rejects. */
const GRACE_MS = 25;
/**
 * The same for a receive. On a busy machine the engine's thread may stop for tens of milliseconds
 * after it has looked for cancellations and before it reads a message. The receive then completes,
 * and the message would be lost if its promise had been rejected.
 */
const RECEIVE_GRACE_MS = 1000;

/** The kinds of requests that may be receives, or batches of them. */
const receiving: readonly Kind[] = [Kind.Completion, Kind.Claim, Kind.Owner];

/**
 * The requests that a signal or a timeout may end before their operations have ended. Their
 * promises reject, and their memory stays in use until the operations end.
 */
export class EarlyEnds {
  readonly #requests: Requests;
  readonly #cancel: (request: number) => void;
  readonly #turn: (() => void) | undefined;
  readonly #releases = new Releases();
  readonly #aborts = new AbortWatch(
    (request) => this.#cancelAndReject(request),
    (request) => this.#releases.end(request),
  );
  readonly #deadlines: Deadlines;
  // The number of a request that has ended is used again, so its timer must not remain.
  readonly #graces = new Map<number, NodeJS.Timeout>();

  /** @param turn lets the engine handle the cancellations, if only the caller turns it. */
  constructor(
    requests: Requests,
    cancel: (request: number) => void,
    turn: (() => void) | undefined,
  ) {
    this.#requests = requests;
    this.#cancel = cancel;
    this.#turn = turn;
    const isManual = turn !== undefined;
    this.#deadlines = new Deadlines((request) => this.#cancelAndReject(request), isManual);
  }

  /** Whether timeouts keep the event loop alive, if the requests themselves do not. */
  keepLoop(on: boolean): void {
    if (this.#turn !== undefined) this.#deadlines.keepLoop(on);
  }

  /** Lets a signal or a timeout abort a request: see AbortWatch. */
  limit(
    request: number,
    promise: Promise<unknown>,
    { signal, timeout }: Wait,
    syscall: string,
  ): void {
    if (signal === undefined && timeout === undefined) return;
    this.#releases.watch(request, promise);
    if (signal !== undefined) this.#aborts.watch(request, signal);
    if (timeout !== undefined) this.#deadlines.watch(request, timeout, syscall);
  }

  // Rejects the caller's promise soon, even if the engine is in a long call or nothing turns it.
  #cancelAndReject(request: number): void {
    this.#cancel(request);
    const turn = this.#turn;
    if (turn !== undefined) {
      const finish = () => {
        if (this.#requests.awaited(request)) turn();
        this.giveUp(request);
      };
      this.#graces.set(request, setTimeout(finish, GRACE_MS));
      return;
    }
    const receives = receiving.includes(this.#requests.kind(request));
    const grace = receives ? RECEIVE_GRACE_MS : GRACE_MS;
    const timer = setTimeout(() => this.giveUp(request), grace).unref(); // the request holds the event loop
    this.#graces.set(request, timer);
  }

  /**
   * Rejects the promise of a request that was aborted or timed out, even if it has not ended.
   * Returns whether it was.
   *
   * @param about what the engine knows about its peer.
   */
  giveUp(request: number, about: Pick<Failure, 'peer' | 'silent'> = {}): boolean {
    const reason = this.#aborts.reasonOf(request);
    const late = this.#deadlines.failureOf(request);
    if (reason !== undefined) this.#requests.reject(request, reason);
    else if (late !== undefined) {
      const hint = about.silent && { hint: SILENT_PEER };
      const released = this.#releases.end(request);
      this.#requests.fail(request, { ...late, peer: about.peer, ...hint, released });
    }
    return reason !== undefined || late !== undefined;
  }

  /** Rejects the promise of a request whose operation has not ended. */
  leave(request: number, failure: Failure): void {
    const released = this.#releases.end(request);
    if (!this.giveUp(request, failure)) this.#requests.fail(request, { ...failure, released });
  }

  /** Called when nothing can abort the request any more. */
  settled(request: number): void {
    this.#aborts.forget(request);
    this.#deadlines.forget(request);
    if (this.#graces.size === 0) return;
    clearTimeout(this.#graces.get(request));
    this.#graces.delete(request);
  }

  /** Called when all requests have ended. */
  close(): void {
    this.#deadlines.close();
  }

  /** Called when the request has ended. */
  forget(request: number): void {
    if (this.#releases.empty) return; // every limited request is registered there
    this.settled(request);
    this.#releases.forget(request);
  }
}
