// Counters of efa-direct on a device with completion counters: prints the value of each kind.
import { Fabric, getInfo } from 'libfabric';
import { loadSoftefa } from 'libfabric/softefa';

loadSoftefa({
  namespace: `hardware-counters-${process.argv[2]}`,
  keep: false,
  partId: 0xefa3,
  capabilities: ['RDMA_READ', 'RDMA_WRITE', 'RNR_RETRY', 'CQ_WITH_SGID', 'COMP_CNTR'],
});
const [info] = getInfo({
  fabricAttr: { provName: 'efa', name: 'efa-direct' },
  epAttr: { type: 'FI_EP_RDM' },
  caps: ['FI_MSG', 'FI_RMA'],
});
const fabric = Fabric.open(info);
const domain = fabric.domain(info);
const counters = Object.fromEntries(
  ['FI_SEND', 'FI_RECV', 'FI_READ', 'FI_WRITE', 'FI_REMOTE_READ', 'FI_REMOTE_WRITE'].map((flag) => [
    flag,
    domain.counter(),
  ]),
);
const endpoint = (...flags) => {
  const av = domain.addressVector();
  const bound = flags.map((flag) => ({ counter: counters[flag], flags: [flag] }));
  return domain.endpoint(info, { av, cq: domain.completionQueue(), counters: bound });
};
const a = endpoint('FI_SEND', 'FI_READ', 'FI_WRITE');
const b = endpoint('FI_RECV', 'FI_REMOTE_READ', 'FI_REMOTE_WRITE');
const peer = a.av.insert(b.address);
const region = await domain.allocate(4096, [
  ...['FI_SEND', 'FI_RECV', 'FI_READ', 'FI_WRITE', 'FI_REMOTE_READ', 'FI_REMOTE_WRITE'],
]);
const remote = domain.remote(region.descriptor());
for (let i = 0; i < 5; i++) {
  await Promise.all([b.recv(region.slice(2048, 2112)), a.send(region.slice(0, 64), peer)]);
}
for (let i = 0; i < 3; i++) await a.write(region.slice(0, 64), peer, remote);
for (let i = 0; i < 2; i++) await a.read(region.slice(0, 64), peer, remote);
await counters.FI_REMOTE_READ.wait(2, { timeout: 5000 });
await counters.FI_REMOTE_WRITE.wait(3, { timeout: 5000 });
const counted = Object.entries(counters).map(([flag, counter]) => `${flag} ${counter.read()}`);
console.log(counted.join(', '));
await domain.close();
await fabric.close();
