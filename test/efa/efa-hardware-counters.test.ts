import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const program = fileURLToPath(new URL('../programs/hardware-counters.mjs', import.meta.url));

test("efa-direct's counters are hardware counters, and count local and remote operations", async (context) => {
  const env = { ...process.env, FI_LOG_LEVEL: 'info', FI_LOG_SUBSYS: 'cntr' };
  const name = Math.random().toString(36).slice(2);
  const ended = promisify(execFile)(process.execPath, [program, name], { env });
  const { stdout, stderr } = await ended.catch((error) => error);
  if (!/hardware counter/.test(stderr)) {
    context.skip(
      'this libfabric has no hardware counters: they need a libfabric after 2.6, on rdma-core 65',
    );
  }
  expect(stdout).toBe(
    'FI_SEND 5, FI_RECV 5, FI_READ 2, FI_WRITE 3, FI_REMOTE_READ 2, FI_REMOTE_WRITE 3\n',
  );
});
