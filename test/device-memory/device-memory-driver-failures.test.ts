// The driver fails while libfabric registers memory of CUDA: a typed error or a registration without that call, and
// nothing is left. Each call fails in a process of its own, because libfabric 2.6 registers no more dmabufs after one
// has failed. `npm run suite -- hmem` builds the libfabric.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { softefaEnvironment } from 'libfabric/softefa';
import { beforeEach, expect, test } from 'vitest';
import { whyNoCuda } from '../support/device-memory.js';
import { fakeCudaFolder, loadFakeCuda, withFakeCuda } from '../support/fake-cuda.js';
import { countersIn } from '../support/fake-library.js';
import { HANG_MS } from '../support/limits.js';

loadFakeCuda({ runtime: true });

beforeEach((context) => {
  const reason = whyNoCuda();
  context.skip(reason !== undefined, reason);
});

const root = fileURLToPath(new URL('../..', import.meta.url));
// Registers memory while calls of `FUNCTION` fail, closes everything, and prints how the registration ended.
const program = `
  import { readdirSync } from 'node:fs';
  import { open } from 'libfabric';
  import { allocate } from 'libfabric/cuda';
  const ep = await open({ provider: 'efa', caps: ['FI_MSG', 'FI_RMA', 'FI_HMEM'] });
  const memory = allocate(8192);
  const descriptors = () => readdirSync('/proc/self/fd').length;
  const register = async () => {
    const region = await ep.domain.register(memory, ['FI_SEND', 'FI_REMOTE_WRITE']);
    await region.close();
  };
  await register();
  const before = descriptors();
  const { FUNCTION } = process.env;
  if (FUNCTION) process.env.FAKE_CUDA_FAIL = FUNCTION + ':1:999';
  let error;
  await register().catch((caught) => { error = caught; });
  delete process.env.FAKE_CUDA_FAIL;
  const left = descriptors() - before;
  await ep.close();
  memory.free();
  console.log(JSON.stringify({ left, name: error?.name, syscall: error?.syscall }));`;

let made = 0;
function run(name: string) {
  const counters = join(fakeCudaFolder, `failing-${made++}`);
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: root,
    env: {
      ...withFakeCuda(),
      ...softefaEnvironment({ memlock: 'unlimited' }),
      FAKE_CUDA_COUNTERS: counters,
      FUNCTION: name,
    },
    timeout: HANG_MS,
    encoding: 'utf8',
  });
  return { ended: JSON.parse(output), counted: countersIn(counters) };
}

const CALLS = [
  'cuPointerGetAttribute',
  'cuPointerSetAttribute',
  'cuMemGetAddressRange',
  'cuMemGetHandleForAddressRange',
];

test.each(CALLS)('efa: %s fails while memory is registered', (name) => {
  const { ended, counted } = run(name);
  expect(counted[`failed:${name}`] ?? 0).toBeLessThanOrEqual(1);
  expect(ended.left).toBe(0);
  if (ended.name !== undefined) {
    expect(ended).toMatchObject({ name: 'FabricError', syscall: 'fi_mr_regattr' });
  }
  expect(counted).toMatchObject({ 'held:memory': 0 });
});

test('efa: a registration without failures calls the driver', () => {
  const { ended, counted } = run('');
  expect(ended).toEqual({ left: 0 });
  expect(CALLS.filter((name) => (counted[name] ?? 0) > 0)).not.toEqual([]);
});
