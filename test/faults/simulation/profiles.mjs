// The contents of programs: small operations of every kind, or large ones that move much memory.

const MIB = 2 ** 20;
const ATOMIC = { bytes: [8, 8], where: ['tcp', 'shm'] };

/**
 * Transfers of engines: whether the offered memory is written or read, whether the bytes come from pages and go to pages,
 * and whether their memory gets other bytes as soon as it is released.
 */
export const TRANSFERS = {
  transfer: { access: 'write' },
  fetch: { access: 'read' },
  scatter: { access: 'write', targetPages: true },
  gather: { access: 'write', sourcePages: true },
  permute: { access: 'write', sourcePages: true, targetPages: true },
  reused: { access: 'write', reuses: true },
  lent: { access: 'read', reuses: true },
};

/** The operations of all kinds of transfers. */
const transfersOf = (bytes, pages) => ({
  transfer: { share: 4, bytes },
  fetch: { share: 4, bytes },
  scatter: { share: 3, bytes, pages },
  gather: { share: 3, bytes, pages },
  permute: { share: 3, bytes, pages },
  reused: { share: 3, bytes },
  lent: { share: 3, bytes },
});

/**
 * - `operations`: the operations of a process on another one. `bytes` and `pages` are the smallest and the largest size,
 *   `count` the fewest and the most messages; `where` the providers, if not all.
 * - `slot`: bytes of each part of a region that RMA writes and reads
 * - `arena`: bytes of the memory that transfers of a round write to
 * - `drivers`: of the endpoints
 * - `reopens`: the share of rounds after which everything is opened again, besides those with a harmful fault
 * - `restarts`: the share of the other rounds after which one process opens everything again, at its address if it can
 * - `big`: the share of operations with the largest size
 * - `quiet`: the share of rounds that only have faults that do no harm
 * - `aborts`: the share of operations that are aborted
 * - `long`: ms; longer than any operation takes without a harmful fault, also on a busy machine
 * - `short`: ms; operations that a fault prevents end after this time
 */
export const PROFILES = {
  mixed: {
    operations: {
      message: { share: 16, bytes: [4, MIB] },
      tagged: { share: 16, bytes: [0, MIB] },
      write: { share: 16, bytes: [1, MIB] },
      read: { share: 12, bytes: [1, MIB] },
      batch: { share: 8, bytes: [1, MIB] },
      atomic: { share: 8, ...ATOMIC },
      burst: { share: 4, bytes: [4, 64], count: [10, 2000] },
      notes: { share: 4, bytes: [8, 64], count: [10, 3000] },
      ...transfersOf([1, 16 * MIB], [2 ** 14, 2 ** 16]),
    },
    drivers: ['thread', 'loop', 'manual'],
    processes: [2, 3],
    rounds: [2, 5],
    reopens: 0.2,
    restarts: 0.4,
    perRound: [4, 24],
    faults: [0, 3],
    slot: MIB,
    arena: 64 * MIB,
    big: 0.3,
    quiet: 0,
    aborts: 0.02,
    long: 15_000,
    short: 700,
  },
  bulk: {
    operations: {
      message: { share: 2, bytes: [4, MIB] },
      tagged: { share: 2, bytes: [MIB, 32 * MIB] },
      write: { share: 2, bytes: [MIB, 32 * MIB] },
      read: { share: 2, bytes: [MIB, 32 * MIB] },
      batch: { share: 3, bytes: [MIB, 32 * MIB] },
      atomic: { share: 1, ...ATOMIC },
      burst: { share: 1, bytes: [4, 64], count: [100, 20_000] },
      notes: { share: 1, bytes: [8, 64], count: [100, 20_000] },
      ...transfersOf([16 * MIB, 256 * MIB], [2 ** 14, MIB]),
    },
    drivers: ['thread', 'loop'],
    processes: [2, 2],
    rounds: [30, 60],
    reopens: 0.02,
    restarts: 0.05,
    perRound: [6, 14],
    faults: [1, 4],
    slot: 32 * MIB,
    arena: 1024 * MIB,
    big: 0.3,
    quiet: 0.97,
    aborts: 0.001,
    long: 180_000,
    short: 6000,
  },
};
