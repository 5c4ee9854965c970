import { ranksCommand } from './command.js';
import { measurePairs } from './measure-pairs.js';

/** libfabric pairwise: bandwidth or latency between each two of many ranks. */
export const pairwiseCommand = () =>
  ranksCommand({
    name: 'pairwise',
    summary: 'bandwidth or latency of each pair of many ranks',
    description:
      'Measures each pair of ranks alone, in either direction, and shows which pairs\nand ranks are slow.',
    examples: [
      'npx libfabric pairwise --local 4 -p shm              four processes of this machine',
      'srun -N 8 npx libfabric pairwise --metric latency    a rank on each of eight nodes',
      'mpirun -n 8 npx libfabric pairwise --json pairs.json  for: npx libfabric report pairs.json',
    ],
    measure: measurePairs,
  });
