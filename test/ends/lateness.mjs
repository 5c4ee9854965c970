// How late promises settle, and how long the event loop stands still: without what the machine is late
// by itself. A timer that is due at the same moment tells how late the event loop was; the kernel tells
// how long this process's threads were ready to run and had no core.
import { readdirSync, readFileSync } from 'node:fs';

const TICK = 10; // ms

/** Milliseconds that threads of this process have waited for a core. */
function waitedForCores(threads = readdirSync('/proc/self/task')) {
  let nanoseconds = 0;
  for (const thread of threads) {
    try {
      nanoseconds += Number(
        readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8').split(' ')[1],
      );
    } catch {
      // It has ended meanwhile.
    }
  }
  return nanoseconds / 1e6;
}

/** Promises of operations, each with the timeout that its operation was given. */
export class Settlements {
  #pending = new Set();
  /** How many there were. */
  count = 0;
  /** The latest beyond its timeout, in ms. */
  worst = { late: 0, what: '' };

  /** Watches a promise from now on, just after it was made. */
  add(what, promise, timeout) {
    const entry = { what, timeout, due: undefined, waited: 0 };
    this.count += 1;
    this.#pending.add(entry);
    const timer = setTimeout(() => {
      entry.due = performance.now();
      entry.waited = waitedForCores();
    }, timeout);
    const end = () => {
      clearTimeout(timer);
      this.#pending.delete(entry);
      if (entry.due === undefined) return;
      const late = performance.now() - entry.due;
      if (late <= this.worst.late) return;
      const ours = late - (waitedForCores() - entry.waited);
      if (ours > this.worst.late) this.worst = { late: ours, what };
    };
    promise.then(end, end);
    return promise;
  }

  /** Waits until all have settled, at most so many ms beyond their timeouts; tells which have not. */
  async all(patience) {
    const longest = Math.max(0, ...[...this.#pending].map(({ timeout }) => timeout));
    const end = performance.now() + longest + patience;
    while (this.#pending.size > 0 && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return [...this.#pending].map(({ what }) => what);
  }
}

/** Watches the event loop of the main thread. */
export class Stalls {
  #thread = String(process.pid);
  #last = performance.now();
  #waited = waitedForCores([this.#thread]);
  #timer = setInterval(() => this.#look(), TICK);
  /** The longest, in ms. */
  longest = 0;

  #look() {
    const now = performance.now();
    const waited = waitedForCores([this.#thread]);
    this.longest = Math.max(this.longest, now - this.#last - TICK - (waited - this.#waited));
    this.#last = now;
    this.#waited = waited;
  }

  end() {
    this.#look();
    clearInterval(this.#timer);
    return this.longest;
  }
}
