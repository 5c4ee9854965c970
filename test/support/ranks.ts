// Starts processes of `libfabric all-to-all` and `libfabric pairwise`.
import { readFileSync } from 'node:fs';
import { softefaEnvironment } from 'libfabric/softefa';
import { type Started, start } from './command.js';
import { ownNamespace } from './own-namespace.js';

/** Starts ranks like a launcher. `rank` returns the arguments and variables of each. */
export function startRanks(
  ranks: readonly number[],
  rank: (rank: number) => { args: readonly string[]; env?: NodeJS.ProcessEnv },
): Started[] {
  return ranks.map((number) => {
    const { args, env } = rank(number);
    return start(args, env);
  });
}

/** The namespace of the devices of all ranks. */
export const namespace = ownNamespace('ranks');

/** Returns the variables of a rank that acts as a host of its own, with software EFA devices. */
export const nodeVariables = (node: number, nics = 1): NodeJS.ProcessEnv =>
  softefaEnvironment({ namespace, node, nics, memlock: 'unlimited' });

/** Resolves when a process has used that many seconds of CPU time: long after its start-up. */
export async function hasUsedCpu({ child, ended }: Started, seconds: number): Promise<void> {
  const ticks = 100; // per second, on every Linux
  let exited = false;
  ended.then(() => {
    exited = true;
  });
  for (;;) {
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    if (Number(fields[11]) + Number(fields[12]) >= seconds * ticks) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (exited) throw new Error((await ended).stderr);
  }
}
