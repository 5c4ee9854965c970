// free() of memory of CUDA that this process registers by its pointer. A registration is in progress until the event loop
// of its thread has run, so no libfabric with CUDA is needed.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { open } from 'libfabric';
import { allocate } from 'libfabric/cuda';
import { expect, test } from 'vitest';
import { loadFakeCuda, withFakeCuda } from '../support/fake-cuda.js';
import { HANG_MS } from '../support/limits.js';
import { closing } from '../support/transfer.js';

loadFakeCuda();

const inUse = expect.objectContaining({ code: 'ERR_INVALID_STATE' });

test('free() is refused while the memory is registered, whatever members the program has added', async () => {
  const ep = closing(await open({ provider: 'shm', caps: ['FI_MSG', 'FI_HMEM'] }));
  const memory = allocate(8192);
  const registering = ep.domain.register(memory, ['FI_SEND']);
  Object.assign(memory, { name: 'weights', type: 'tensor', byteLength: 0 });
  expect(() => memory.free()).toThrow(inUse);
  expect(memory.freed).toBe(false);
  await registering.then((region) => region.close()).catch(() => {});
  memory.free();
  expect(memory.freed).toBe(true);
});

test('free() is refused while a worker registers the memory', () => {
  const program = fileURLToPath(new URL('../programs/device-memory-worker.mjs', import.meta.url));
  const output = execFileSync(process.execPath, [program], {
    env: withFakeCuda(),
    timeout: HANG_MS,
    encoding: 'utf8',
  });
  expect(output).toBe('ERR_INVALID_STATE\nfalse\ntrue\n');
});
