// Messages and writes over efa-direct, whose queues the provider fills itself, on a device with 64-bit
// request ids: prints the capabilities of the send queue, and how many of them arrived.
import { open } from 'libfabric';
import { loadSoftefa } from 'libfabric/softefa';

loadSoftefa({
  namespace: process.argv[2],
  keep: false,
  direct: true,
  partId: 0xefa4,
  capabilities: [
    'RDMA_READ',
    'RDMA_WRITE',
    'RNR_RETRY',
    'CQ_WITH_SGID',
    'UNSOLICITED_WRITE_RECV', // libfabric 2.3 needs it for FI_RMA on efa-direct
    'SQ_64_BIT_REQ_ID',
  ],
});
const options = { provider: 'efa', fabric: 'efa-direct', caps: ['FI_MSG', 'FI_RMA'] };
const a = await open(options);
const b = await open(options);
const toB = a.av.insert(b.address);
const from = await a.domain.allocate(64, ['FI_SEND', 'FI_WRITE']);
const received = await b.domain.allocate(64, ['FI_RECV']);
const written = await b.domain.allocate(64, ['FI_REMOTE_WRITE']);
const remote = a.domain.remote(written.descriptor());
const { sq } = a.domain.efa.queryQpWqs(a);
let arrived = 0;
for (let round = 1; round <= 300; round++) {
  from.bytes.fill(round);
  await Promise.all([b.recv(received), a.send(from, toB)]);
  await a.write(from, toB, remote);
  for (const { bytes } of [received, written]) {
    if (bytes.every((byte) => byte === round % 256)) arrived += 1;
  }
}
console.log(`${sq.caps.join(', ') || 'none'}: ${arrived} arrived`);
await a.close();
await b.close();
