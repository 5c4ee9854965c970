// A /dev/shm of 64 MiB, as containers have it by default, in which endpoints are opened until it is full.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { withShm } from '../matrix/systems.mjs';
import { skipWithout } from '../support/containers.js';
import { HANG_MS } from '../support/limits.js';
import { release } from '../support/release.js';
import { namespace } from '../support/softefa.js';

const SMALL = withShm('size=64m');
skipWithout(SMALL, 'mount a file system');

const program = fileURLToPath(new URL('../matrix/program.mjs', import.meta.url));

async function outcomeOf(provider: string, env: NodeJS.ProcessEnv) {
  const [command, ...args] = [...SMALL, process.execPath, program, provider, 'fill'];
  const options = { env, timeout: HANG_MS, killSignal: 'SIGKILL' } as const;
  const { stdout } = await promisify(execFile)(command!, args, options);
  return JSON.parse(stdout);
}

test.for(['0', '1'])(
  'open() of efa rejects with FI_ENOSPC when /dev/shm is full: shm within a host %s',
  async (shared, { skip }) => {
    skip(shared === '0' && release() >= 200, 'efa of libfabric 2 needs no room there without shm');
    const own = { MATRIX_NAMESPACE: namespace, FI_EFA_ENABLE_SHM_TRANSFER: shared };
    const env = { ...process.env, ...own };
    const { outcome, message } = await outcomeOf('efa', env);
    expect(outcome).toBe('FI_ENOSPC');
    expect(message).toContain('/dev/shm has no room');
  },
);

test('open() of shm rejects and names /dev/shm when it is full', async () => {
  const { outcome, message, hint } = await outcomeOf('shm', process.env);
  expect(['FI_ENODATA', 'FI_ENOSPC']).toContain(outcome);
  expect(`${message} ${hint}`).toContain('/dev/shm');
});
