// Measures how late promises settle and how long the event loop is blocked, excluding delays of the machine. A
// timer that is due at the same time shows how late the event loop was. The kernel reports how long the threads
// of this process were ready to run without a core.
import { readdirSync, readFileSync } from 'node:fs';

const TICK = 10; // ms

/** Milliseconds that each thread of this process has waited for a core. */
function waitsForCores() {
  const waits = new Map();
  for (const thread of readdirSync('/proc/self/task')) {
    try {
      const [, nanoseconds] = readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8').split(
        ' ',
      );
      waits.set(thread, Number(nanoseconds) / 1e6);
    } catch {
      // The thread has exited in the meantime.
    }
  }
  return waits;
}

/** Milliseconds that the threads of now have waited since `before`. Those that have exited have no figure. */
function waitedSince(before, now = waitsForCores()) {
  let sum = 0;
  for (const [thread, waited] of now) sum += waited - (before.get(thread) ?? 0);
  return sum;
}

/**
 * The time, and how long threads have waited for a core up to this time. Reads both again if a thread waits between the
 * two readings.
 */
function moment() {
  for (let tries = 0; ; tries++) {
    const waits = waitsForCores();
    const now = performance.now();
    if (waitedSince(waits) < 1 || tries === 10) return { now, waits };
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
    const entry = { what, timeout, due: undefined, waits: undefined };
    this.count += 1;
    this.#pending.add(entry);
    const timer = setTimeout(() => {
      entry.waits = waitsForCores(); // read before the time, so that a wait between the two does not count as late
      entry.due = performance.now();
    }, timeout);
    const end = () => {
      clearTimeout(timer);
      this.#pending.delete(entry);
      if (entry.due === undefined) return;
      const late = performance.now() - entry.due;
      if (late <= this.worst.late) return;
      const corrected = late - waitedSince(entry.waits);
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
    const { now, waits } = moment();
    const late = now - this.#last.now - TICK;
    this.longest = Math.max(this.longest, late - waitedSince(this.#last.waits, waits));
    this.#last = { now, waits };
  }

  end() {
    this.#look();
    clearInterval(this.#timer);
    return this.longest;
  }
}
