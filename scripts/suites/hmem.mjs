// `npm run suite -- hmem [vitest's arguments]`: the tests of device memory by FI_HMEM, over fakes of CUDA, GDRCopy and
// Neuron, with a libfabric that this script builds for them. It stays in build-hmem.
import { setup } from '../setup.mjs';
import { makeHmemLibfabric } from '../stack/hmem.mjs';
import efa from './efa.mjs';

const TESTS = ['test/device-memory', 'test/transfer/transfer-device-memory'];

export default async function hmem(args) {
  await setup();
  const prefix = await makeHmemLibfabric();
  return efa(['--stack', prefix, 'newest', ...(args.length > 0 ? args : TESTS)]);
}
