import type { Rail } from './rails.js';

// Milliseconds in one call of the provider, and the checks within them. Calls return within some milliseconds, but a busy
// machine may let a thread wait.
const LIMIT = 2000;
const CHECKS = 4;

/** What is known of the thread of a rail. */
interface Watched {
  /** How often it has turned the rail's domain. */
  turns: number | bigint;
  /** Milliseconds since this has changed, and the checks since then. */
  still: number;
  checks: number;
}

/**
 * Finds rails whose thread does not return from a call of the provider, for example because a process was killed while it
 * held a lock in memory that it shares with this one (docs/provider-limits.md).
 */
export class StuckRails {
  readonly #rails: readonly Rail[];
  readonly #watched = new Map<Rail, Watched>();
  readonly #changed: (index: number, rail: Rail) => void;

  /** @param changed is called when a rail is stuck, or goes on: see `rail.isStuck`. */
  constructor(rails: readonly Rail[], changed: (index: number, rail: Rail) => void) {
    this.#rails = rails;
    this.#changed = changed;
  }

  /** @param passed milliseconds since the last check. */
  check(passed: number): void {
    for (const [index, rail] of this.#rails.entries()) {
      if (rail.announced === 'broken') continue;
      const { turns, isIdle } = rail.activity;
      const watched = this.#watched.get(rail) ?? { turns, still: 0, checks: 0 };
      this.#watched.set(rail, watched);
      const goesOn = isIdle || turns !== watched.turns;
      watched.still = goesOn ? 0 : watched.still + passed;
      watched.checks = goesOn ? 0 : watched.checks + 1;
      watched.turns = turns;
      const stuck = watched.still >= LIMIT && watched.checks >= CHECKS;
      if (stuck === rail.isStuck) continue;
      rail.isStuck = stuck;
      this.#changed(index, rail);
    }
  }

  /** Why nothing comes from any peer. Undefined if a rail works. */
  get reason(): string | undefined {
    return this.#rails.every(({ isStuck }) => isStuck) ? STUCK : undefined;
  }
}

/** What has happened, and what to do. */
export const STUCK =
  'the provider does not return from a call; close this engine and open another one';
