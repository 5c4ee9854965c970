import { median } from '../../shared/statistics.js';
import { deliver, megabytesPerSecond, transferAll } from './bandwidth.js';
import { emptyMatrix, type Figures, type ShowProgress } from './figures.js';
import { answer, measureLatency } from './latency.js';
import type { Mesh } from './mesh.js';
import { ranksCommand } from './ranks-command.js';
import { type RankPair, schedule } from './schedule.js';

/** libfabric pairwise: bandwidth or latency of each pair of many ranks. */
export const pairwiseCommand = () =>
  ranksCommand({
    name: 'pairwise',
    summary: 'bandwidth or latency of each pair of many ranks',
    description:
      'Measures each pair of ranks alone, in either direction, and shows which pairs and ranks are slow.',
    examples: [
      'npx libfabric pairwise --local 4 -p shm              four processes of this machine',
      'srun -N 8 npx libfabric pairwise --metric latency    a rank on each of eight nodes',
      'mpirun -n 8 npx libfabric pairwise --json pairs.json  for: npx libfabric report pairs.json',
    ],
    measure: measurePairs,
  });

/** What the initiating rank measured. */
interface Measured {
  readonly value: number;
  /** MB/s of each NIC. */
  readonly nics?: readonly number[];
}

/** Measures all pairs. Returns the figures at rank 0. */
async function measurePairs(mesh: Mesh, show: ShowProgress): Promise<Figures | undefined> {
  const { group, rank, settings } = mesh;
  const pingPong = settings.metric === 'latency' && settings.transfer === 'send';
  const rounds = schedule(group.ranks, settings.concurrent, !pingPong);
  const values = emptyMatrix(group.ranks);
  const nics: number[][] = mesh.lanes.map(() => []);
  const progress = show(rounds.map(() => 1));
  for (const round of rounds) {
    progress.next(`rank ${round.map(({ from, to }) => `${from} to ${to}`).join(', ')}`);
    const all = await measureRound(mesh, round);
    for (const { from, to } of rank === 0 ? round : []) {
      const measured = all?.[from];
      if (!measured) continue;
      // Rows are senders.
      if (settings.transfer !== 'read') note(values, from, to, measured.value);
      if (settings.transfer === 'read' || pingPong) note(values, to, from, measured.value);
      measured.nics?.forEach((value, i) => {
        nics[i]?.push(value);
      });
    }
  }
  if (rank !== 0) return undefined;
  return { values, ...(settings.metric === 'bandwidth' && { nics: nics.map(median) }) };
}

function note(values: (number | null)[][], from: number, to: number, value: number): void {
  (values[from] as (number | null)[])[to] = value;
}

/** Runs this rank's part of a round. */
async function measureRound(
  mesh: Mesh,
  round: readonly RankPair[],
): Promise<(Measured | null)[] | undefined> {
  const { group, rank, settings } = mesh;
  const own = round.find(({ from, to }) => from === rank || to === rank);
  if (own === undefined) {
    const found = await group.collect<Measured | null>(null);
    if (settings.verify) await group.collect(null);
    return found;
  }
  const starts = own.from === rank;
  let measured: Measured | null = null;
  if (starts) measured = await start(mesh, own.to);
  else if (settings.transfer === 'send') await receive(mesh, own.from);
  const found = await mesh.turnUntil(group.collect(measured));
  if (settings.verify) {
    if (receives(mesh, starts)) mesh.verify(starts ? own.to : own.from);
    await group.collect(null); // the next round must not overwrite data that is not verified yet
  }
  return found;
}

// A read brings data to its initiator, a ping-pong to both ranks.
function receives({ settings: { transfer, metric } }: Mesh, starts: boolean): boolean {
  if (transfer === 'send' && metric === 'latency') return true;
  return (transfer === 'read') === starts;
}

async function start(mesh: Mesh, to: number): Promise<Measured> {
  const { settings } = mesh;
  const iterations = settings.iterations as number;
  if (settings.metric === 'latency') return { value: await measureLatency(mesh, to, iterations) };
  await transferAll(mesh, [to], { iterations: settings.window }); // the first use of memory and connection
  const [carried] = await transferAll(mesh, [to], { iterations });
  if (carried === undefined) throw new Error('nothing was transferred');
  if (settings.verify && settings.transfer === 'write') await deliver(mesh, [to]);
  const { bytes, seconds } = carried;
  return {
    value: megabytesPerSecond(carried),
    nics: bytes.map((count) => count / seconds / 1e6),
  };
}

async function receive(mesh: Mesh, from: number): Promise<void> {
  const { settings } = mesh;
  const iterations = settings.iterations as number;
  if (settings.metric === 'latency') return answer(mesh, from, iterations);
  await transferAll(mesh, [from], { iterations: settings.window }, 'receiver');
  await transferAll(mesh, [from], { iterations }, 'receiver');
}
