// Messages and writes over efa-direct, whose queues the provider fills itself, on a device with 64-bit
// request ids: prints the capabilities of the send queue, and how many of them arrived.
import { open } from 'libfabric';
import { loadSoftefa } from 'libfabric/softefa';

loadSoftefa({
  namespace: `long-request-ids-${process.argv[2]}`,
  keep: false,
  direct: true,
  partId: 0xefa4,
  capabilities: ['RDMA_READ', 'RDMA_WRITE', 'RNR_RETRY', 'CQ_WITH_SGID', 'SQ_64_BIT_REQ_ID'],
});
const options = { provider: 'efa', fabric: 'efa-direct', caps: ['FI_MSG', 'FI_RMA'] };
const a = await open(options);
const b = await open({ ...options, domain: a.domain });
const toB = a.av.insert(b.address);
const from = await a.domain.allocate(4096, ['FI_SEND', 'FI_WRITE']);
const to = await a.domain.allocate(4096, ['FI_RECV', 'FI_REMOTE_WRITE']);
const remote = a.domain.remote(to.descriptor());
const { sq } = a.domain.efa.queryQpWqs(a);
let arrived = 0;
for (let round = 1; round <= 300; round++) {
  from.bytes.fill(round);
  await Promise.all([b.recv(to.slice(0, 64)), a.send(from.slice(0, 64), toB)]);
  if (to.bytes.subarray(0, 64).every((byte) => byte === round % 256)) arrived += 1;
  await a.write(from.slice(0, 64), toB, remote.slice(64, 128));
  if (to.bytes.subarray(64, 128).every((byte) => byte === round % 256)) arrived += 1;
}
console.log(`${sq.caps.join(', ') || 'none'}: ${arrived} arrived`);
await Promise.all([a.close(), b.close()]);
