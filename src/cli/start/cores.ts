// The cores that the two sides of `npm start` run on.
import { readFileSync } from 'node:fs';
import { pinToCores } from '../fabtests/common/test-command.js';

// The cores that this process may use when it starts: '0-3,8'.
const [, allowed = ''] =
  readFileSync('/proc/self/status', 'utf8').match(/^Cpus_allowed_list:\t(.*)$/m) ?? [];

const cores = allowed.split(',').flatMap((range) => {
  const [first = 0, last = first] = range.split('-').map(Number);
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
});

/** Gives each side as many cores of its own as it has busy threads, or one if there are fewer. */
export function takeCores(side: 0 | 1, threads: number): void {
  if (cores.length < 2) return;
  const count = cores.length < 2 * threads ? 1 : threads;
  try {
    pinToCores(cores.slice(side * count, (side + 1) * count).join());
  } catch {
    // Without taskset, or if it is not permitted, the system chooses the cores.
  }
}
