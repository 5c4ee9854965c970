// node device-rdma.mjs [PART]: whether the packed package asks the libfabric of this system for all that it
// knows, and so gets the RDMA of an EFA: of a device in software of this part, or of the machine's. Fails
// where the provider emulates reads that the device can do. For a project that has the package installed.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { open, version } from 'libfabric';
import { loadSoftefa } from 'libfabric/softefa';

const [part] = process.argv.slice(2);
process.env.FI_EFA_ENABLE_SHM_TRANSFER ??= '0';
const namespace = `device-rdma-${randomBytes(4).toString('hex')}`;
if (part) loadSoftefa({ namespace, keep: false, partId: Number(part), memlock: 'unlimited' });

const { major, minor, string, builtWith, apiVersion } = version();
console.log(`libfabric ${string}, built with ${builtWith}, asked for ${apiVersion}`);
assert.equal(builtWith, '1.17', 'published binaries are built with the oldest libfabric');
if (major < 2 || (major === 2 && minor <= 6)) assert.equal(apiVersion, `${major}.${minor}`);

const ep = await open({ provider: 'efa', caps: ['FI_MSG', 'FI_RMA'] });
if (major > 1 || minor >= 18) {
  assert.equal(ep.getOption('FI_OPT_EFA_EMULATED_READ'), false, 'reads are emulated');
  console.log('reads by the device');
} else {
  console.log(`libfabric ${string} does not tell who reads`);
}
await ep.close();
