// Endpoints that are opened while the process is nearly out of file descriptors.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { HANG_MS } from '../support/limits.js';
import { withSoftefa } from '../support/softefa.js';

const program = fileURLToPath(new URL('../programs/few-descriptors.mjs', import.meta.url));
const shared = { ...withSoftefa(), FI_EFA_ENABLE_SHM_TRANSFER: '1' };

test.each([
  ['shm', process.env],
  ['tcp', process.env],
  ['udp', process.env],
  ['efa', withSoftefa()],
  ['efa', shared],
])('open() rejects or returns an endpoint that can be closed: %s', async (provider, env) => {
  const limited = ['-c', 'ulimit -n 100; exec "$0" "$@"', process.execPath, program, provider];
  const { stdout } = await promisify(execFile)('sh', limited, {
    env,
    timeout: HANG_MS,
    killSignal: 'SIGKILL',
  });
  const outcomes = JSON.parse(stdout) as string[];
  expect(outcomes[0]).toMatch(/^FI_E/);
  expect(outcomes.at(-1)).toBe('ok');
});
