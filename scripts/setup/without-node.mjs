// The engine and transfers in a program without Node.js (test/without-node/).
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { nodeHeaders, sanitizers } from './clang.mjs';
import { announce, root, run } from './step.mjs';
import { systemPackages } from './system.mjs';

const LIBUV = {
  name: 'libuv',
  present: () => spawnSync('sh', ['-c', 'ldconfig -p | grep -q libuv.so.1']).status === 0,
  apt: ['libuv1'],
  dnf: ['libuv'],
};

/** The variables of the program. */
export const ENGINE_ENVIRONMENT = {
  // psm, which libfabric loads, would allocate memory in a signal handler when the process is ended.
  IPATH_NO_BACKTRACE: '1',
  HFI_NO_BACKTRACE: '1',
  FI_EFA_ENABLE_SHM_TRANSFER: '0', // uses the device also within a process
  SOFTEFA_NAMESPACE: `without-node-${process.pid}`,
  SOFTEFA_MEMLOCK: 'unlimited',
};

/** Builds the program with a sanitizer of clang: 'thread', 'address', or '' for none. Returns its path. */
export async function buildEngine(sanitizer = '') {
  await sanitizers(sanitizer || 'address');
  await systemPackages([LIBUV]);
  announce(`building the engine without Node.js (${sanitizer || 'plain'})`);
  const jobs = `-j${Math.min(availableParallelism(), 8)}`;
  const variables = [`SANITIZER=${sanitizer}`, `NODE_HEADERS=${nodeHeaders()}`];
  await run('make', ['-s', jobs, '-f', 'test/without-node/Makefile', ...variables], {
    what: 'make',
  });
  return join(root, 'build/without-node', sanitizer || 'plain', 'engine');
}
