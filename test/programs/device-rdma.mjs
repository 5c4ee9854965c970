// node device-rdma.mjs [PART]: checks that the packed package requests the newest API version of this
// system's libfabric, and therefore uses the RDMA of an EFA: of a software device with this part id, or of
// the machine's device. Fails if the provider emulates reads that the device supports. For a project that has
// the package installed.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { open, version } from 'libfabric';
import { loadSoftefa } from 'libfabric/softefa';

const [part] = process.argv.slice(2);
process.env.FI_EFA_ENABLE_SHM_TRANSFER ??= '0';
const namespace = `device-rdma-${randomBytes(4).toString('hex')}`;
if (part) loadSoftefa({ namespace, keep: false, partId: Number(part), memlock: 'unlimited' });

const { major, minor, string, builtWith, apiVersion } = version();
console.log(`libfabric ${string}, built with ${builtWith}, requested API ${apiVersion}`);
assert.equal(builtWith, '1.17', 'published binaries are built with the oldest libfabric');
if (major < 2 || (major === 2 && minor <= 6)) assert.equal(apiVersion, `${major}.${minor}`);

const ep = await open({ provider: 'efa', caps: ['FI_MSG', 'FI_RMA'] });
if (major > 1 || minor >= 18) {
  assert.equal(ep.getOption('FI_OPT_EFA_EMULATED_READ'), false, 'reads are emulated');
  console.log('the device does the reads');
} else {
  console.log(`libfabric ${string} does not report whether reads are emulated`);
}
await ep.close();
