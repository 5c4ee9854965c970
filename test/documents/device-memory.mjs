import { ftruncateSync, openSync, rmSync } from 'node:fs';
import { getInfo, open } from 'libfabric';

const fabric = { provName: 'efa', name: 'efa-direct' };
if (getInfo({ fabricAttr: fabric, caps: ['FI_RMA'] }).length === 0) process.exit(0); // libfabric before 2.1

const path = `/dev/shm/libfabric-document-${process.pid}`;
const fd = openSync(path, 'wx+');
rmSync(path);
ftruncateSync(fd, 2 ** 20);
const ep = await open({ provider: 'efa', fabric: 'efa-direct', caps: ['FI_MSG', 'FI_RMA'] });
const other = await open({ provider: 'efa', fabric: 'efa-direct', caps: ['FI_MSG', 'FI_RMA'] });
const peer = ep.av.insert(other.address);
const peerRegion = await other.domain.allocate(2 ** 20, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
const remote = ep.domain.remote(peerRegion.descriptor());

// HERE

await ep.read(new Uint8Array(8), peer, remote);
await ep.close();
await other.close();
