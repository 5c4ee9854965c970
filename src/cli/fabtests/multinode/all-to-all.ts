import { ranksCommand } from './command.js';
import { measureAll } from './measure-all.js';

/** libfabric all-to-all: bandwidth of all ranks to all others at once. */
export const allToAllCommand = () =>
  ranksCommand({
    name: 'all-to-all',
    summary: 'bandwidth of many ranks, all to all others at once',
    description:
      'All ranks write to all others at once, each pair at its own pace: what a\n' +
      'network carries as a whole, and which pairs and ranks get less than others.',
    examples: [
      'npx libfabric all-to-all --local 4 -p shm            four processes of this machine',
      'srun -N 8 npx libfabric all-to-all --nics all        a rank on each of eight nodes, all NICs',
      'npx libfabric all-to-all --rank 1 --ranks 2 --root node0:29228',
    ],
    measure: measureAll,
  });
