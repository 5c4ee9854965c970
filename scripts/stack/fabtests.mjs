// Runs the programs of fabtests on the software device: on one node and on two, on every fabric of the provider, and
// with a device that moves data synchronously, asynchronously, or from queues that the provider fills itself.
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
const DIRECT_PATH = 2.3; // the release in which the provider fills queues itself
// These programs do not have the options that all others have.
const OTHER_OPTIONS = /^(fi_efa_rdma_checker|sighandler_test|check_hmem|fi_check_hmem)$/;

// The efa provider aborts the process: for example if it asks for a handshake and its peer no longer exists.
const INTERNAL_ERROR = /EFA provider has encountered an internal error/;

/** Whether a folder holds programs of fabtests. */
export const hasFabtests = (folder) => existsSync(join(folder, 'bin/fi_rdm_pingpong'));

// The variables of each device under a condition. The suite itself configures a reordering device.
function devicesOf(condition, release) {
  const { direct, ...others } = DEVICES;
  if (condition === 'reordering') return {};
  if (condition) return { [condition]: DEVICES[condition] ?? CONDITIONS[condition] };
  return release < DIRECT_PATH ? others : { ...others, direct };
}

/** Every run: its command line, its numbers of processes and nodes, and its environment variables. */
function* runs({ condition, release, all }) {
  const devices = Object.entries(devicesOf(condition, release));
  for (const [at, [device, variables]] of devices.entries()) {
    for (const nodes of [1, 2]) {
      for (const group of GROUPS) {
        const { fabric = 'efa', since = 1, nodes: least = 1, lines } = group;
        const { alone, required, once, leaves } = group;
        const environment = { ...variables, ...group.variables };
        if (release < since || (fabric === 'efa-direct' && release < EFA_DIRECT)) continue;
        if (!required && !all) continue;
        if (nodes < least || (nodes === 2 && (alone || once)) || (once && at > 0)) continue;
        for (const line of lines) {
          yield { line, alone, required, leaves, fabric, nodes, device, environment };
        }
      }
    }
  }
}

// The command of a program with its arguments; undefined if the build does not have the program.
function commandOf(folder, { line, alone, fabric }, release, port) {
  const [name, ...args] = line.split(' ');
  const file = join(resolve(folder), 'bin', name);
  if (!existsSync(file)) return undefined;
  if (OTHER_OPTIONS.test(name)) return [file, ...args];
  const named = release >= 2 ? ['-f', fabric] : [];
  return [file, ...args, '-p', 'efa', ...named, ...(alone ? [] : [`-E=${port}`])];
}

// Counts and prints a result.
function count(tally, { line, leaves, fabric, nodes, device }, result, mayRefuse) {
  const title = `${line} (${fabric}, ${nodes} ${nodes === 1 ? 'node' : 'nodes'}, ${device})`;
  if (result.passed) {
    tally.passed += 1;
    console.log(`passed: ${title}`);
  } else if (leaves && INTERNAL_ERROR.test(result.output)) {
    tally.skipped += 1;
    console.log(`skipped: ${title}: internal error of the provider when its peer has left`);
  } else if (result.refused && mayRefuse) {
    tally.skipped += 1;
    console.log(`skipped: ${title}: ${result.why}`);
  } else {
    tally.failed += 1;
    console.log(`failed: ${title}\n${result.output}`);
  }
}

/**
 * Runs the programs of the folder with the libfabric of `env`, which has the given version: the required programs, or
 * all. Returns how many passed, failed and were skipped.
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
  // Without this a shell that runs us in the background makes the programs ignore the signal, too.
  let interrupted = false;
  process.on('SIGINT', () => {
    interrupted = true;
  });
  for (const run of runs({ condition, release, all })) {
    const command = commandOf(folder, run, release, port);
    if (!command) continue;
    const of = (node) => ({ ...base, ...run.environment, SOFTEFA_NODE: `${node}` });
    const environments = run.alone ? [of(0)] : [of(0), of(run.nodes - 1)];
    // The requested part of the device may lack features of the others.
    count(tally, run, await play(command, environments, port), !run.required || condition);
    if (interrupted) {
      tally.failed += 1;
      break;
    }
  }
  const remove = ['softefa', '--namespace', namespace, '--remove'];
  spawnSync(process.execPath, [join(root, 'dist/cli/main.js'), ...remove], { stdio: 'inherit' });
  const { passed, failed, skipped } = tally;
  console.log(`fabtests ${version}: ${passed} passed, ${failed} failed, ${skipped} skipped`);
  return tally;
}
