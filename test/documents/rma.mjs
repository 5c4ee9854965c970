import { open } from 'libfabric';

const ep = await open({ provider: 'shm', caps: ['FI_MSG', 'FI_TAGGED', 'FI_RMA'] });
const other = await open({ provider: 'shm', caps: ['FI_MSG', 'FI_TAGGED', 'FI_RMA'] });
const peer = ep.av.insert(other.address);
const peerRegion = await other.domain.allocate(2 ** 20, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
const remote = ep.domain.remote(peerRegion.descriptor());
const region = await ep.domain.allocate(2 ** 20, ['FI_READ', 'FI_WRITE', 'FI_SEND']);

// HERE

await ep.read(region.slice(0, 8), peer, remote);
await region.close();
await ep.close();
await other.close();
