// Draws programs from seeds. A program is data: what processes do in which round, and what fails meanwhile.
import { DRIVERS, randomOf } from '../../ends/plan.mjs';

export const PROVIDERS = ['tcp', 'shm', 'efa'];

/** The regions of processes: slots that are written and read as a whole, and a counter behind them. */
export const SLOTS = 12;
export const SLOT = 2 ** 20;
const HALF = SLOTS / 2;

/** What a process does to another one. `bytes` are the sizes; `where` the providers, if not all. */
export const OPERATIONS = {
  message: { share: 4, bytes: [4, SLOT] },
  tagged: { share: 4, bytes: [0, SLOT] },
  write: { share: 4, bytes: [1, SLOT] },
  read: { share: 3, bytes: [1, SLOT] },
  batch: { share: 2, bytes: [1, SLOT] },
  atomic: { share: 2, bytes: [8, 8], where: ['tcp', 'shm'] },
  transfer: { share: 2, bytes: [1, 16 * SLOT] },
};

const sharesMemory = ['shm'];

/**
 * What fails during a round. Whatever is not `harmful` may only cost time: all operations of the round must succeed.
 * An shm peer that is killed may hold a lock (docs/provider-limits.md), so no such process is killed.
 */
export const FAULTS = {
  stop: { draw: (r) => ({ milliseconds: r.whole(5, 150) }) },
  slow: { draw: (r) => ({ milliseconds: r.whole(5, 100) }) },
  full: { draw: (r) => ({ call: 'post', error: 'FI_EAGAIN', chance: r.whole(20_000, 600_000) }) },
  empty: { draw: (r) => ({ call: 'read', error: 'FI_EAGAIN', chance: r.whole(20_000, 600_000) }) },
  interrupted: {
    draw: (r) => ({ call: 'read', error: 'FI_EINTR', chance: r.whole(2000, 200_000) }),
  },
  reorder: { where: ['efa'], draw: (r) => ({ microseconds: r.whole(20, 400) }) },
  delay: { where: ['efa'], draw: (r) => ({ value: r.whole(100, 5000) }) },
  drop: { where: ['efa'], draw: (r) => ({ perMille: r.whole(1, 200) }) },
  memory: {
    harmful: true,
    draw: (r) => ({ call: 'register', error: 'FI_ENOMEM', chance: r.whole(50_000, 900_000) }),
  },
  refused: {
    harmful: true,
    draw: (r) => ({ call: 'post', error: 'FI_ENOMEM', chance: r.whole(10_000, 300_000) }),
  },
  closed: { harmful: true, draw: (r) => ({ milliseconds: r.whole(0, 30) }) },
  killed: {
    harmful: true,
    where: PROVIDERS.filter((provider) => !sharesMemory.includes(provider)),
    draw: (r) => ({ milliseconds: r.whole(0, 60) }),
  },
  portDown: { harmful: true, where: ['efa'], draw: (r) => ({ milliseconds: r.whole(5, 200) }) },
  freeze: { harmful: true, where: ['efa'], draw: (r) => ({ milliseconds: r.whole(5, 200) }) },
  rnr: { harmful: true, where: ['efa'], draw: (r) => ({ count: r.whole(1, 50) }) },
  status: {
    harmful: true,
    where: ['efa'],
    draw: (r) => ({ count: r.whole(1, 20), value: r.of([4, 7, 8, 9, 10, 12, 13]) }),
  },
  registration: {
    harmful: true,
    where: ['efa'],
    draw: (r) => ({ count: r.whole(1, 4), value: 'FI_ENOMEM' }),
  },
};

export const isHarmful = ({ faults, operations }) =>
  faults.some(({ kind }) => FAULTS[kind].harmful) ||
  operations.some(({ abort }) => abort !== undefined);

class Random {
  constructor(seed) {
    this.next = randomOf(seed);
  }
  whole(low, high) {
    return low + Math.floor(this.next() * (high - low + 1));
  }
  /** A size: each power of two is as likely as the next. */
  size([low, high]) {
    return Math.min(high, Math.max(low, Math.floor(2 ** (this.next() * Math.log2(high + 1)))));
  }
  of(list) {
    return list[this.whole(0, list.length - 1)];
  }
  kind(table, provider) {
    const names = Object.keys(table).filter(
      (name) => table[name].where?.includes(provider) ?? true,
    );
    return this.of(names.flatMap((name) => Array(table[name].share ?? 1).fill(name)));
  }
}

/**
 * @typedef {{ id: number, kind: string, from: number, to: number, bytes: number, slot?: number, abort?: number }} Operation
 * @typedef {{ kind: string, process: number, seed: number }} Fault
 * @typedef {{ operations: Operation[], faults: Fault[], reopens: boolean }} Round
 * @typedef {{ seed: string, provider: string, drivers: string[], rounds: Round[] }} Program
 */

/**
 * @param {string} seed
 * @returns {Program} the program of a seed, as data that JSON can carry
 */
export function programOf(seed, providers = PROVIDERS) {
  const r = new Random(seed);
  const provider = r.of(providers);
  const processes = r.whole(2, 3);
  const drivers = Array.from({ length: processes }, () => r.of(DRIVERS));
  const rounds = Array.from({ length: r.whole(2, 5) }, (_, i) =>
    roundOf(r, provider, processes, i),
  );
  return { seed, provider, drivers, rounds };
}

function roundOf(r, provider, processes, number) {
  const slots = Array.from({ length: processes }, () => 0);
  const operations = Array.from({ length: r.whole(4, 24) }, (_, i) => {
    const kind = r.kind(OPERATIONS, provider);
    const from = r.whole(0, processes - 1);
    const to = (from + r.whole(1, processes - 1)) % processes;
    const big = r.next() < 0.3;
    const { bytes } = OPERATIONS[kind];
    const operation = {
      id: number * 100 + i,
      kind,
      from,
      to,
      bytes: big ? bytes[1] : r.size(bytes),
    };
    // A round writes to one half of the slots and reads the other, which the round before wrote to.
    const half = (number % 2) * HALF;
    if (kind === 'write' || kind === 'batch') operation.slot = half + (slots[to]++ % HALF);
    if (kind === 'read') operation.slot = HALF - half + r.whole(0, HALF - 1);
    if (r.next() < 0.02) operation.abort = r.whole(0, 20);
    return operation;
  });
  const taken = new Set();
  const faults = Array.from({ length: r.whole(0, 3) }, () => {
    const kind = r.kind(FAULTS, provider);
    return {
      kind,
      process: r.whole(0, processes - 1),
      seed: r.whole(1, 1e9),
      ...FAULTS[kind].draw(r),
    };
  }).filter(({ kind, process }) => !taken.has(kind + process) && taken.add(kind + process));
  return { operations: withOwnSlots(operations), faults, reopens: r.next() < 0.2 };
}

/** Without operations that write to a slot that an earlier one of the round writes to. */
function withOwnSlots(operations) {
  const taken = new Set();
  return operations.filter(({ kind, to, slot }) => {
    if (kind !== 'write' && kind !== 'batch') return true;
    const place = `${to}/${slot}`;
    return !taken.has(place) && taken.add(place);
  });
}
