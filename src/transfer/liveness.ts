import { withoutContext } from '../base/async-context.js';
import { TimeLimit } from '../base/time-limit.js';
import type { RemoteEngine } from './remote-engine.js';

/** Milliseconds within which a peer that has died is lost, if the engine's option names no others. */
export const LIVENESS = 5000;
/** The most milliseconds that a peer stays connected although the provider reports errors of all rails to it. */
export const CUT_TIMEOUT = 2000;
const DOUBT_TIMEOUT = 1000; // ms
// Checks within the limit, and those without a sign of life until a peer is silent or lost. A sign of life counts from
// the check after it, and checks may be late.
const CHECKS = 10;
const CHECKS_TO_SILENT = 5;
const CHECKS_TO_LOST = 8;
const CHECKS_PER_PROBE = 2;

/** The state of a peer. */
export type PeerState = 'connected' | 'silent' | 'lost';

/** What shows whether a peer is alive. */
export class Life {
  /** The number of transfers, offers, messages and barriers that are open with the peer. */
  open = 0;
  /** Whether its signs of life are checked. */
  isWatched = false;
  /** Whether the peer was closed, so that nothing can be sent to it. */
  isForgotten = false;
  /** Milliseconds since its last sign of life, while something is open. */
  quiet = 0;
  /** The provider's error, while no rail reaches the peer because of errors. */
  cut: string | undefined;
  /** Milliseconds of that. */
  cutFor = 0;
  /** Whether it is lost because nothing came from it. */
  wasSilent = false;
  /** Whether that may be because the provider of this side is stuck. */
  isBlocked = false;
  checks = 0;
  /** Whether the peer must answer soon, because a connection of its program has ended. */
  isDoubted = false;
}

/** What the checks do. */
export interface LivenessActions {
  /** Returns whether this engine cannot read what comes. */
  deaf(): boolean;
  /** The milliseconds `passed` since the last call while something is open. Returns why nothing comes from any peer, if known. */
  blocked(passed: number): string | undefined;
  /** Returns whether something has come from the peer since the last call. */
  heard(peer: RemoteEngine): boolean;
  /** Asks the peer for a sign of life. */
  probe(peer: RemoteEngine): void;
  /** Sets the state of the peer, and announces it. If the peer is lost, first ends everything that is open with it. */
  change(peer: RemoteEngine, state: PeerState, reason: string): void;
}

/**
 * Checks whether the peers are alive with which something is open. Time that passes while this process or its event loop
 * is stopped, or registers memory, does not count against a peer.
 */
export class Liveness {
  readonly #limit: number;
  readonly #interval: number;
  readonly #silentAfter: number;
  readonly #lostAfter: number;
  readonly #cutTimeout: number;
  readonly #actions: LivenessActions;
  readonly #watched = new Set<RemoteEngine>();
  #timer: NodeJS.Timeout | undefined;
  #checkedAt = 0;
  #blocked: string | undefined;

  /** @param limit milliseconds without a sign of life until a peer is lost. Infinity: silence shows nothing. */
  constructor(limit: number, actions: LivenessActions) {
    this.#limit = limit;
    this.#interval = (limit === Number.POSITIVE_INFINITY ? LIVENESS : limit) / CHECKS;
    this.#silentAfter = (limit / CHECKS) * (CHECKS_TO_SILENT - 0.5);
    this.#lostAfter = (limit / CHECKS) * (CHECKS_TO_LOST - 0.5);
    this.#cutTimeout = Math.min(limit, CUT_TIMEOUT);
    this.#actions = actions;
  }

  /** Something is open with a peer. */
  watch(peer: RemoteEngine): void {
    const { life } = peer;
    if (life.isWatched || life.isForgotten) return;
    life.isWatched = true;
    life.quiet = life.cutFor = 0;
    this.#actions.heard(peer); // what came before shows nothing
    this.#watched.add(peer);
    if (this.#timer !== undefined) return;
    this.#checkedAt = performance.now();
    this.#timer = withoutContext(() => setInterval(this.#check, this.#interval).unref());
  }

  readonly #check = (): void => {
    const now = performance.now();
    const most = this.#actions.deaf() ? 0 : 2 * this.#interval;
    const passed = Math.min(now - this.#checkedAt, most);
    this.#checkedAt = now;
    this.#blocked = this.#actions.blocked(passed);
    for (const peer of this.#watched) {
      if (this.#isOf(peer)) this.#checkPeer(peer, passed);
      else {
        peer.life.isWatched = false;
        this.#watched.delete(peer);
      }
    }
    if (this.#watched.size === 0) this.close();
  };

  #isOf({ life, state }: RemoteEngine): boolean {
    if (life.isForgotten) return false;
    return life.open > 0 || (life.cut !== undefined && state !== 'lost');
  }

  #checkPeer(peer: RemoteEngine, passed: number): void {
    const { life } = peer;
    const heard = this.#actions.heard(peer);
    if (heard) life.isDoubted = false;
    life.quiet = heard || life.open === 0 ? 0 : life.quiet + passed;
    life.cutFor = life.cut === undefined ? 0 : life.cutFor + passed;
    if (life.cut !== undefined && life.cutFor >= this.#cutTimeout) {
      this.#lose(peer, `no rail reaches it: ${life.cut}`, false);
    } else if (life.quiet > this.#lostAfter) {
      this.#lose(peer, this.#silence(life.quiet), true);
    } else if (life.quiet > this.#silentAfter && peer.state === 'connected') {
      this.#actions.change(peer, 'silent', this.#silence(life.quiet));
    }
    life.checks = life.quiet === 0 ? 0 : life.checks + 1;
    const mayProbe = this.#limit !== Number.POSITIVE_INFINITY && life.open > 0;
    if (mayProbe && life.checks > 0 && life.checks % CHECKS_PER_PROBE === 0) {
      this.#actions.probe(peer);
    }
  }

  #silence(quiet: number): string {
    return this.#blocked === undefined ? silence(quiet) : `${silence(quiet)}: ${this.#blocked}`;
  }

  #lose(peer: RemoteEngine, reason: string, wasSilent: boolean): void {
    const { life } = peer;
    life.quiet = life.cutFor = 0; // what is opened from now on has the whole time
    life.wasSilent = wasSilent;
    life.isBlocked = wasSilent && this.#blocked !== undefined;
    this.#actions.change(peer, 'lost', reason);
  }

  /** Something has come from a peer that was silent or lost. */
  back(peer: RemoteEngine): void {
    peer.life.quiet = 0;
    const isCut = peer.state === 'lost' && !peer.life.wasSilent && peer.life.cut !== undefined;
    if (!isCut) this.#connect(peer, 'it has answered');
  }

  /** Something else shows that the peer may have died. If it does not answer soon, it is lost. */
  doubt(peer: RemoteEngine): void {
    const { life } = peer;
    if (life.isDoubted || life.open === 0 || life.isForgotten || peer.state === 'lost') return;
    if (peer.hasEnded) {
      this.#lose(peer, 'its process or worker has ended', true);
      return;
    }
    if (this.#limit === Number.POSITIVE_INFINITY) return;
    life.isDoubted = true;
    this.#actions.heard(peer); // what came before shows nothing
    this.#actions.probe(peer);
    this.#awaitAnswer(peer);
  }

  #awaitAnswer(peer: RemoteEngine): void {
    const timeout = Math.min(this.#limit, DOUBT_TIMEOUT);
    const expired = () => {
      const { life } = peer;
      const isOver = life.open === 0 || life.isForgotten || peer.state === 'lost';
      if (!isOver && life.isDoubted && !this.#actions.heard(peer)) {
        if (this.#actions.deaf()) {
          this.#awaitAnswer(peer);
          return;
        }
        this.#lose(peer, `a connection of its program has ended, and ${silence(timeout)}`, true);
      } else life.quiet = 0;
      life.isDoubted = false;
    };
    withoutContext(() => new TimeLimit(timeout, expired).unref());
  }

  /** The provider reports errors of all rails to a peer. */
  cut(peer: RemoteEngine, error: string): void {
    peer.life.cut = error;
    this.watch(peer);
  }

  /** A rail reaches a peer again. */
  reached(peer: RemoteEngine): void {
    peer.life.cut = undefined;
    if (peer.state === 'lost' && !peer.life.wasSilent)
      this.#connect(peer, 'a rail reaches it again');
  }

  // What comes from a process that has ended was sent before its end.
  #connect(peer: RemoteEngine, reason: string): void {
    if (peer.state !== 'connected' && !peer.hasEnded)
      this.#actions.change(peer, 'connected', reason);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

const silence = (quiet: number) => `nothing has come from it for ${Math.round(quiet)} ms`;
