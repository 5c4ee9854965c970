// Measures how late promises settle and how long the event loop is blocked, excluding delays of the machine. A
// timer that is due at the same time shows how late the event loop was. The kernel reports how long the threads
// of this process were ready to run without a core.
import { readdirSync, readFileSync } from 'node:fs';

const TICK = 10; // ms

/** Milliseconds that threads of this process have waited for a core. */
function waitedForCores() {
  let nanoseconds = 0;
  for (const thread of readdirSync('/proc/self/task')) {
    try {
      nanoseconds += Number(
        readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8').split(' ')[1],
      );
    } catch {
      // The thread has exited in the meantime.
    }
  }
  return nanoseconds / 1e6;
}

/**
 * The time, and how long threads have waited for a core up to this time. Reads both again if a thread waits between the
 * two readings.
 */
function moment() {
  for (let tries = 0; ; tries++) {
    const waited = waitedForCores();
    const now = performance.now();
    if (waitedForCores() - waited < 1 || tries === 10) return { now, waited };
  }
}

/** Promises of operations, each with the timeout of its operation. */
export class Settlements {
  #pending = new Set();
  /** The number of promises. */
  count = 0;
  /** The longest delay beyond a timeout, in ms. */
  worst = { late: 0, what: '' };

  /** Watches a promise. Must be called just after the promise was created. */
  add(what, promise, timeout) {
    const entry = { what, timeout, due: undefined, waited: 0 };
    this.count += 1;
    this.#pending.add(entry);
    const timer = setTimeout(() => {
      entry.waited = waitedForCores(); // read before the time, so that a wait between the two does not count as late
      entry.due = performance.now();
    }, timeout);
    const end = () => {
      clearTimeout(timer);
      this.#pending.delete(entry);
      if (entry.due === undefined) return;
      const late = performance.now() - entry.due;
      if (late <= this.worst.late) return;
      const corrected = late - (waitedForCores() - entry.waited);
      if (corrected > this.worst.late) this.worst = { late: corrected, what };
    };
    promise.then(end, end);
    return promise;
  }

  /** Waits until all have settled, at most `limit` ms beyond their timeouts. Returns those that have not. */
  async all(limit) {
    const longest = Math.max(0, ...[...this.#pending].map(({ timeout }) => timeout));
    const end = performance.now() + longest + limit;
    while (this.#pending.size > 0 && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return [...this.#pending].map(({ what }) => what);
  }
}

/**
 * Watches the event loop of the main thread. A thread that waits for a core may hold a lock that the main thread needs,
 * so the waits of all threads are excluded.
 */
export class Stalls {
  #last = moment();
  #timer = setInterval(() => this.#look(), TICK);
  /** The longest stall, in ms. */
  longest = 0;

  #look() {
    const { now, waited } = moment();
    const late = now - this.#last.now - TICK;
    this.longest = Math.max(this.longest, late - Math.max(0, waited - this.#last.waited));
    this.#last = { now, waited };
  }

  end() {
    this.#look();
    clearInterval(this.#timer);
    return this.longest;
  }
}
