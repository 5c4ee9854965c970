// Processes of `libfabric all-to-all` and `libfabric pairwise`.
import { readFileSync } from 'node:fs';
import { softefaEnvironment } from 'libfabric/softefa';
import { type Started, start } from './command.js';
import { ownNamespace } from './own-namespace.js';

/** Starts ranks one by one, as a launcher does: `rank` says the arguments and variables of each. */
export function startRanks(
  ranks: readonly number[],
  rank: (rank: number) => { args: readonly string[]; env?: NodeJS.ProcessEnv },
): Started[] {
  return ranks.map((number) => {
    const { args, env } = rank(number);
    return start(args, env);
  });
}

/** Of the devices of all ranks. */
export const namespace = ownNamespace('ranks');

/** Variables of a rank that plays a host of its own, with software EFA devices. */
export const onNode = (node: number, nics = 1): NodeJS.ProcessEnv =>
  softefaEnvironment({ namespace, node, nics, memlock: 'unlimited' });

/** Resolves when a process has used so many seconds of a core: long after its start-up is over. */
export async function hasWorked({ child, ended }: Started, seconds: number): Promise<void> {
  const ticks = 100; // a second, on every Linux
  let over = false;
  ended.then(() => {
    over = true;
  });
  for (;;) {
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    if (Number(fields[11]) + Number(fields[12]) >= seconds * ticks) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (over) throw new Error((await ended).stderr);
  }
}
