// A process with memory of a GPU, to which it has no access itself: a peer writes it and reads it. The file of the memory
// is descriptor 3 of the process.
import { once } from 'node:events';
import { open } from 'libfabric';

const ep = await open({ provider: 'efa', fabric: 'efa-direct', caps: ['FI_MSG', 'FI_RMA'] });
const byteLength = Number(process.argv[2]);
const rights = ['FI_RECV', 'FI_REMOTE_READ', 'FI_REMOTE_WRITE'];
const region = await ep.domain.register({ type: 'dmabuf', fd: 3, offset: 0, byteLength }, rights);
const received = ep.recv(region.slice(0, 8192));
process.send({ address: ep.address, descriptor: region.descriptor() });
// The NIC takes RDMA only from NICs whose address it has.
const [peer] = await once(process, 'message');
ep.av.insert(peer);
process.send('inserted');
const { length } = await received;
process.send({ length });
process.once('message', async () => {
  await ep.close();
  process.disconnect();
});
