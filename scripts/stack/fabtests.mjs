// The programs of fabtests on the software device: on one node and on two, on every fabric of the provider, and with a
// device that moves data at once, later, or from queues that the provider fills by itself.
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { freePort } from '../../test/support/free-port.mjs';
import { root } from '../setup/step.mjs';
import { CONDITIONS } from './arguments.mjs';
import { play } from './process.mjs';
import { GROUPS } from './programs.mjs';

const DEVICES = {
  synchronous: { SOFTEFA_ASYNC: '0' },
  asynchronous: { SOFTEFA_ASYNC: '1' },
  direct: { SOFTEFA_DIRECT: '1' },
};
const EFA_DIRECT = 2.1; // the release that brought the fabric
const DIRECT_PATH = 2.3; // and the one that fills queues by itself
const OPTIONS_OF_THEIR_OWN = ['fi_efa_rdma_checker', 'sighandler_test'];

/** Whether a folder holds programs of fabtests. */
export const hasFabtests = (folder) => existsSync(join(folder, 'bin/fi_rdm_pingpong'));

// The variables of each device under a condition. One that reorders is set up by the suite itself.
function devicesOf(condition, release) {
  const { direct, ...others } = DEVICES;
  if (condition === 'reordering') return {};
  if (condition) return { [condition]: DEVICES[condition] ?? CONDITIONS[condition] };
  return release < DIRECT_PATH ? others : { ...others, direct };
}

/** Every run: its command line, how many processes and nodes it has, and the device's variables. */
function* runs({ condition, release, all }) {
  const devices = Object.entries(devicesOf(condition, release));
  for (const [at, [device, variables]] of devices.entries()) {
    for (const nodes of [1, 2]) {
      for (const { alone, required, fabric = 'efa', once, nodes: least = 1, lines } of GROUPS) {
        if (fabric === 'efa-direct' && release < EFA_DIRECT) continue;
        if (!required && !all) continue;
        if (nodes < least || (nodes === 2 && (alone || once)) || (once && at > 0)) continue;
        for (const line of lines) {
          yield { line, alone, required, fabric, nodes, device, variables };
        }
      }
    }
  }
}

/**
 * Runs the programs of the folder with the libfabric of `env`, whose version is given: those that must pass, or all.
 * Prints a line for each that does not, and returns how many did.
 */
export async function runFabtests({ folder, env, version, condition, all }) {
  const release = Number.parseFloat(version);
  const namespace = `fabtests-${randomUUID().slice(0, 8)}`;
  const base = {
    ...process.env,
    ...env,
    LD_PRELOAD: join(root, 'build/Release/libsoftefa.so'),
    SOFTEFA_NAMESPACE: namespace,
  };
  const port = await freePort();
  const tally = { passed: 0, failed: 0, skipped: 0 };
  for (const run of runs({ condition, release, all })) {
    const [name, ...args] = run.line.split(' ');
    const file = join(resolve(folder), 'bin', name);
    if (!existsSync(file)) continue;
    if (!OPTIONS_OF_THEIR_OWN.includes(name)) {
      args.push('-p', 'efa');
      if (release >= 2) args.push('-f', run.fabric);
      if (!run.alone) args.push(`-E=${port}`);
    }
    const of = (node) => ({ ...base, ...run.variables, SOFTEFA_NODE: `${node}` });
    const environments = run.alone ? [of(0)] : [of(0), of(run.nodes - 1)];
    const result = await play([file, ...args], environments, port);
    const title = `${run.line} (${run.fabric}, ${run.nodes} ${run.nodes === 1 ? 'node' : 'nodes'}, ${run.device})`;
    if (result.passed) {
      tally.passed += 1;
    } else if (result.refused && !(run.required && !condition)) {
      tally.skipped += 1;
      console.log(`skipped: ${title}: ${result.why}`);
    } else {
      tally.failed += 1;
      console.log(`failed: ${title}\n${result.output}`);
    }
  }
  const remove = ['softefa', '--namespace', namespace, '--remove'];
  spawnSync(process.execPath, [join(root, 'dist/cli/main.js'), ...remove], { stdio: 'inherit' });
  const { passed, failed, skipped } = tally;
  console.log(`fabtests ${version}: ${passed} passed, ${failed} failed, ${skipped} skipped`);
  return tally;
}
