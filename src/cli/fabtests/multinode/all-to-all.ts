import { deliver, megabytesPerSecond, transferAll } from './bandwidth.js';
import { emptyMatrix, type Figures, type ShowProgress } from './figures.js';
import type { Mesh } from './mesh.js';
import { amountText } from './output.js';
import { ranksCommand } from './ranks-command.js';

/** libfabric all-to-all: bandwidth of all ranks to all others at once. */
export const allToAllCommand = () =>
  ranksCommand({
    name: 'all-to-all',
    summary: 'bandwidth of many ranks, all to all others at once',
    description:
      'All ranks write to all others at once, each pair at its own pace. Shows what a ' +
      'network carries as a whole, and which pairs and ranks get less than others.',
    examples: [
      'npx libfabric all-to-all --local 4 -p shm            four processes of this machine',
      'srun -N 8 npx libfabric all-to-all --nics all        a rank on each of eight nodes, all NICs',
      'npx libfabric all-to-all --rank 1 --ranks 2 --root node0:29228',
    ],
    measure: measureAll,
  });

/** The figures of a rank. */
interface Measured {
  /** MB/s to each rank. */
  readonly toRank: readonly (number | null)[];
  /** Bytes over each NIC. */
  readonly nics: readonly number[];
  /** Seconds until the last transfer completed. */
  readonly seconds: number;
}

/** Measures all pairs at once. Returns the figures at rank 0. */
async function measureAll(mesh: Mesh, show: ShowProgress): Promise<Figures | undefined> {
  const { group, rank, settings } = mesh;
  const others = othersOf(rank, group.ranks);
  const progress = show(settings.verify ? [0, 1, 0] : [0, 1]);
  progress.next('warm-up of all pairs');
  await transferAll(mesh, others, { iterations: settings.window }); // first use of memory and connections
  await mesh.turnUntil(group.collect(null));
  progress.next(`all pairs at once, ${amountText(settings)}`);
  const measured = await carryToAll(mesh, others);
  await mesh.turnUntil(group.collect(null));
  if (settings.verify) {
    progress.next('verification');
    await verify(mesh, others);
  }
  const all = await mesh.turnUntil(group.collect(measured));
  return all && figuresOf(all, settings.transfer === 'read');
}

// Each rank starts with the next one; otherwise all would start with rank 0.
function othersOf(rank: number, ranks: number): number[] {
  return Array.from({ length: ranks - 1 }, (_, i) => (rank + 1 + i) % ranks);
}

async function carryToAll(mesh: Mesh, others: readonly number[]): Promise<Measured> {
  const { iterations, seconds } = mesh.settings;
  const carried = await transferAll(
    mesh,
    others,
    iterations === undefined ? { seconds } : { iterations },
  );
  const toRank = new Array<number | null>(mesh.group.ranks).fill(null);
  others.forEach((rank, i) => {
    toRank[rank] = megabytesPerSecond(carried[i] as (typeof carried)[number]);
  });
  return {
    toRank,
    nics: mesh.lanes.map((_, nic) =>
      carried.reduce((sum, { bytes }) => sum + (bytes[nic] as number), 0),
    ),
    seconds: Math.max(...carried.map((one) => one.seconds)),
  };
}

async function verify(mesh: Mesh, others: readonly number[]): Promise<void> {
  if (mesh.settings.transfer === 'write') {
    await deliver(mesh, others);
    await mesh.turnUntil(mesh.group.collect(null));
  }
  for (const rank of others) mesh.verify(rank);
}

// Rows are senders. For reads, the sender is the rank whose memory is read.
function figuresOf(all: readonly Measured[], reads: boolean): Figures {
  const seconds = Math.max(...all.map((one) => one.seconds));
  const nics = (all[0] as Measured).nics.map(
    (_, nic) => all.reduce((sum, one) => sum + (one.nics[nic] as number), 0) / seconds / 1e6,
  );
  const values = emptyMatrix(all.length).map((row, i) =>
    row.map((_, j) => (reads ? all[j]?.toRank[i] : all[i]?.toRank[j]) ?? null),
  );
  return { values, nics, total: nics.reduce((sum, value) => sum + value, 0) };
}
