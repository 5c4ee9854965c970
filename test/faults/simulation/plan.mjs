// Draws programs from seeds. A program is data: the operations of the processes in each round, and the faults during
// each round.
import { randomOf } from '../../ends/plan.mjs';
import { VERBS_ERRORS } from '../calls/errors.mjs';
import { PROFILES, TRANSFERS } from './profiles.mjs';

export const PROVIDERS = ['tcp', 'shm', 'efa'];

/** The regions of processes: slots that are written and read as a whole, and a counter behind them. */
export const SLOTS = 12;
const HALF = SLOTS / 2;

/** Pages of transfers, and of this machine, are aligned within the arena. */
const ALIGNMENT = 2 ** 20;

const sharesMemory = ['shm'];

/** The shares of programs whose first opening meets a fault, and whose processes may lock little memory. */
const OPENING_SHARE = 0.7;
const MEMLOCK_SHARE = 0.1;
const MIB = 2 ** 20;
const MEMLOCKS = [8, 256]; // MiB

/**
 * The faults of a round. A fault that is not `harmful` may only cost time: all operations of the round must succeed.
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
  reorder: { where: ['efa'], draw: (r) => ({ milliseconds: r.whole(20, 400) / 1000 }) },
  delay: { where: ['efa'], draw: (r) => ({ value: r.whole(100, 5000) / 1000 }) },
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
    draw: (r) => ({ count: r.whole(1, 4), value: r.of(VERBS_ERRORS) }),
  },
  post: {
    harmful: true, // efa sends some packets again, and drops others
    where: ['efa'],
    draw: (r) => ({ count: r.whole(1, 100), after: r.whole(0, 50), value: r.of(VERBS_ERRORS) }),
  },
  receive: {
    harmful: true, // they break the endpoint, as polls do
    where: ['efa'],
    draw: (r) => ({ count: r.whole(1, 3), after: r.whole(0, 20), value: r.of(VERBS_ERRORS) }),
  },
  poll: {
    harmful: true,
    where: ['efa'],
    draw: (r) => ({ count: r.whole(1, 3), after: r.whole(0, 5000), value: r.of(VERBS_ERRORS) }),
  },
  memlock: { harmful: true, where: [] },
};

/** The limit on locked memory applies to a process, so all rounds of its program have it. */
const MEMLOCK = { kind: 'memlock', process: 0, seed: 1 };

/**
 * The faults while the processes of a program open their endpoints. They must get errors, and open again afterwards.
 * efa of 1.17 crashes without its own address handle, and opens its devices only once in a process, so that neither
 * address handles nor queries fail.
 */
export const OPENING = {
  opened: { draw: (r) => ({ call: 'open', error: 'FI_ENOMEM', chance: r.whole(20_000, 300_000) }) },
  enabled: { draw: () => ({ call: 'enable', error: 'FI_ENOMEM', chance: 500_000 }) },
  memory: {
    draw: (r) => ({ call: 'register', error: 'FI_ENOMEM', chance: r.whole(50_000, 900_000) }),
  },
  space: {
    where: ['shm', 'efa'],
    draw: (r) => ({ call: 'space', error: 'FI_ENOSPC', chance: r.whole(100_000, 1_000_000) }),
  },
  creation: {
    where: ['efa'],
    draw: (r) => ({ count: 1, after: r.whole(0, 8), value: r.of(VERBS_ERRORS) }),
  },
  modify: {
    where: ['efa'],
    draw: (r) => ({ count: 1, after: r.whole(0, 8), value: r.of(VERBS_ERRORS) }),
  },
  registration: {
    where: ['efa'],
    draw: (r) => ({ count: r.whole(1, 3), after: r.whole(0, 12), value: r.of(VERBS_ERRORS) }),
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
  /** A size. All powers of two are equally likely. */
  size([low, high]) {
    return Math.min(high, Math.max(low, Math.floor(2 ** (this.next() * Math.log2(high + 1)))));
  }
  of(list) {
    return list[this.whole(0, list.length - 1)];
  }
  kind(table, provider, allowed = () => true) {
    const names = Object.keys(table).filter(
      (name) => (table[name].where?.includes(provider) ?? true) && allowed(table[name]),
    );
    return this.of(names.flatMap((name) => Array(table[name].share ?? 1).fill(name)));
  }
}

/**
 * @typedef {{ id: number, kind: string, from: number, to: number, bytes: number, count?: number, slot?: number, page?: number, at?: number, abort?: number }} Operation
 * @typedef {{ kind: string, process: number, seed: number, after?: number }} Fault
 * @typedef {{ operations: Operation[], faults: Fault[], reopens: boolean, restarts?: number }} Round
 * @typedef {{ seed: string, profile: string, provider: string, maps: boolean, drivers: string[], rounds: Round[], opening: Fault[], memlock?: number }} Program
 */

/**
 * @param {string} seed
 * @returns {Program} the program of a seed, as data that JSON can carry
 */
export function programOf(seed, providers = PROVIDERS, profile = 'mixed') {
  const r = new Random(seed);
  const provider = r.of(providers);
  const { drivers: kinds, processes, rounds } = PROFILES[profile];
  const drivers = Array.from({ length: r.whole(...processes) }, () => r.of(kinds));
  const maps = provider !== 'efa' && r.next() < 0.25;
  const drawn = Array.from({ length: r.whole(...rounds) }, (_, i) =>
    roundOf(r, PROFILES[profile], provider, drivers.length, i),
  );
  const opening =
    r.next() < OPENING_SHARE ? [drawnFault(r, OPENING, provider, drivers.length)] : [];
  const program = { seed, profile, provider, maps, drivers, rounds: drawn, opening };
  if (provider !== 'efa' || r.next() >= MEMLOCK_SHARE) return program;
  for (const { faults } of drawn) faults.push(MEMLOCK);
  return { ...program, memlock: r.whole(...MEMLOCKS) * MIB };
}

function roundOf(r, profile, provider, processes, number) {
  const slots = Array.from({ length: processes }, () => 0);
  const operations = Array.from({ length: r.whole(...profile.perRound) }, (_, i) => {
    const kind = r.kind(profile.operations, provider);
    const from = r.whole(0, processes - 1);
    const to = (from + r.whole(1, processes - 1)) % processes;
    const big = r.next() < profile.big;
    const { bytes, pages, count } = profile.operations[kind];
    const operation = {
      id: number * 100 + i,
      kind,
      from,
      to,
      bytes: big ? bytes[1] : r.size(bytes),
    };
    if (count) operation.count = r.size(count);
    if (pages) {
      operation.page = 2 ** Math.floor(Math.log2(r.size(pages)));
      operation.bytes = Math.ceil(operation.bytes / operation.page) * operation.page;
    }
    // A round writes to one half of the slots and reads the other, which the round before wrote to.
    const half = (number % 2) * HALF;
    if (kind === 'write' || kind === 'batch') operation.slot = half + (slots[to]++ % HALF);
    if (kind === 'read') operation.slot = HALF - half + r.whole(0, HALF - 1);
    if (r.next() < profile.aborts) operation.abort = r.whole(0, 20);
    return operation;
  });
  return {
    operations: withinArenas(withOwnSlots(operations), profile.arena),
    faults: faultsOf(r, profile, provider, processes),
    reopens: r.next() < profile.reopens,
    ...(r.next() < profile.restarts && { restarts: r.whole(0, processes - 1) }),
  };
}

function faultsOf(r, profile, provider, processes) {
  const taken = new Set();
  const quiet = r.next() < profile.quiet;
  return Array.from({ length: r.whole(...profile.faults) }, () => {
    return drawnFault(r, FAULTS, provider, processes, ({ harmful }) => !(quiet && harmful));
  }).filter(({ kind, process }) => !taken.has(kind + process) && taken.add(kind + process));
}

function drawnFault(r, table, provider, processes, allowed) {
  const kind = r.kind(table, provider, allowed);
  const process = r.whole(0, processes - 1);
  return { kind, process, seed: r.whole(1, 1e9), ...table[kind].draw(r) };
}

/** Removes operations that write to a slot to which an earlier operation of the round writes. */
function withOwnSlots(operations) {
  const taken = new Set();
  return operations.filter(({ kind, to, slot }) => {
    if (kind !== 'write' && kind !== 'batch') return true;
    const place = `${to}/${slot}`;
    return !taken.has(place) && taken.add(place);
  });
}

/** Gives each transfer its own part of the arena to write to. Removes transfers that do not fit. */
function withinArenas(operations, arena) {
  const used = new Map();
  return operations.flatMap((operation) => {
    const { kind, from, to, bytes } = operation;
    if (!(kind in TRANSFERS)) return [operation];
    const process = TRANSFERS[kind].access === 'write' ? to : from;
    const at = used.get(process) ?? 0;
    const end = at + Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
    if (end > arena) return [];
    used.set(process, end);
    return [{ ...operation, at }];
  });
}
