// Benchmarks that measure each provider between two processes, with one core each.
import { execFileSync, spawnSync } from 'node:child_process';
import { softefaEnvironment } from 'libfabric/softefa';
import { notPinned } from './pair.mjs';

/** Moves a process and its threads to one core, if there are several. */
export function pin(pid, core) {
  if (notPinned) return;
  execFileSync('taskset', ['-acp', String(core), String(pid)], { stdio: 'ignore' });
}

/** The environment of a process: with softefa, which must be loaded before libfabric, for efa. */
export const environmentOf = (provider, { namespace, node, nics }) => ({
  ...process.env,
  ...(provider === 'efa' && {
    FI_EFA_ENABLE_SHM_TRANSFER: '0',
    ...softefaEnvironment({ namespace, nics, node, memlock: 'unlimited', keep: false }),
  }),
});

/** Runs this program again for each provider, with --alone, in a process of its own on node 0. */
export function runForEach(providers, nics) {
  const namespace = `bench-${process.pid}`;
  for (const provider of providers) {
    const env = environmentOf(provider, { namespace, node: 0, nics });
    const args = [...process.argv.slice(1), '--provider', provider, '--alone'];
    const { status } = spawnSync(process.execPath, args, { env, stdio: 'inherit' });
    if (status !== 0) process.exitCode = 1;
  }
}

/** Runs the contenders in turn, some rounds before they are measured. Returns the milliseconds of each. */
export async function measure(contenders, rounds, warmUp) {
  const times = contenders.map(() => []);
  for (let round = -warmUp; round < rounds; round++) {
    for (const [i, run] of contenders.entries()) {
      const took = await run();
      if (round >= 0) times[i].push(took);
    }
  }
  return times;
}
