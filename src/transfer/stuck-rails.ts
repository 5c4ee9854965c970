import type { Rail } from './rails.js';

// Milliseconds in one call of the provider, and the checks within them. Calls return within some milliseconds, but a busy
// machine may let a thread wait.
const LIMIT = 2000;
const CHECKS = 4;

/** What is known of a rail. */
interface Watched {
  /** How often its thread has turned its domain. */
  turns: number | bigint;
  /** Milliseconds since this has changed, and the checks since then. */
  still: number;
  checks: number;
  /** The messages and slices that the provider has completed. */
  sent: number;
  /** Milliseconds since this has changed. */
  mute: number;
}

/** The state of the engine that decides whether a rail is stuck. */
export interface StuckRailsOptions {
  readonly rails: readonly Rail[];
  /** Milliseconds after which a provider that completes nothing is stuck. */
  readonly limit: number;
  /** The messages and slices that the provider of each rail has completed. */
  sent(): readonly number[];
  /** Whether nothing comes from a peer of this host whose process runs. */
  isAnyMissed(): boolean;
  /** Called when a rail is stuck, or goes on: see `rail.stuck`. */
  changed(index: number, rail: Rail): void;
}

/**
 * Finds rails whose thread does not return from a call of the provider, and rails over shared memory that complete nothing,
 * for example because a process was killed while it held a lock, or before it has answered an operation
 * (docs/provider-limits.md).
 */
export class StuckRails {
  readonly #options: StuckRailsOptions;
  readonly #watched = new Map<Rail, Watched>();

  constructor(options: StuckRailsOptions) {
    this.#options = options;
  }

  /** @param passed milliseconds since the last check. */
  check(passed: number): void {
    const sent = this.#options.sent();
    for (const [index, rail] of this.#options.rails.entries()) {
      if (rail.announced === 'broken') continue;
      const reason = this.#reasonOf(rail, passed, sent[index] as number);
      if (reason === rail.stuck) continue;
      rail.stuck = reason;
      this.#options.changed(index, rail);
    }
  }

  #reasonOf(rail: Rail, passed: number, sent: number): string | undefined {
    const { turns, isIdle } = rail.activity;
    const watched = this.#watched.get(rail) ?? { turns, still: 0, checks: 0, sent, mute: 0 };
    this.#watched.set(rail, watched);
    const goesOn = isIdle || turns !== watched.turns;
    watched.still = goesOn ? 0 : watched.still + passed;
    watched.checks = goesOn ? 0 : watched.checks + 1;
    watched.turns = turns;
    watched.mute = sent === watched.sent ? watched.mute + passed : 0;
    watched.sent = sent;
    if (watched.still >= LIMIT && watched.checks >= CHECKS) return STUCK;
    if (rail.path !== 'shared-memory' || watched.mute < this.#options.limit) return undefined;
    return rail.stuck === MUTE || this.#options.isAnyMissed() ? MUTE : undefined;
  }

  /** Why nothing comes from any peer. Undefined if a rail works. */
  get reason(): string | undefined {
    const { rails } = this.#options;
    return rails.every(({ stuck }) => stuck !== undefined) ? rails[0]?.stuck : undefined;
  }
}

const REMEDY = 'close this engine and open another one';

/** What has happened, and what to do. */
export const STUCK = `the provider does not return from a call; ${REMEDY}`;
const MUTE = `the provider completes nothing, perhaps because a peer was killed; ${REMEDY}`;
