// `npm run test:hmem -- [vitest's arguments]`: the tests of device memory by FI_HMEM, over fakes of CUDA, GDRCopy and
// Neuron, with a libfabric that this script builds for them. It stays in build-hmem.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './setup/step.mjs';
import { setup } from './setup.mjs';
import { makeHmemLibfabric } from './stack/hmem.mjs';
import { prepare } from './test.mjs';

const TESTS = ['test/device-memory', 'test/transfer/transfer-device-memory'];

const found = prepare(() => {
  setup();
  return { prefix: makeHmemLibfabric() };
});
if (found) {
  const given = process.argv.slice(2);
  const tests = given.length > 0 ? given : TESTS;
  const script = join(root, 'scripts/test-efa.mjs');
  const { status } = spawnSync(
    process.execPath,
    [script, '--stack', found.prefix, 'newest', ...tests],
    { stdio: 'inherit' },
  );
  process.exitCode = status ?? 1;
}
