import { open } from 'libfabric';

const ep = await open({ provider: 'shm', caps: ['FI_MSG', 'FI_RMA'] });
const server = await open({ provider: 'shm', caps: ['FI_MSG', 'FI_RMA'] });
const peer = ep.av.insert(server.address);
const region = await ep.domain.allocate(8192, ['FI_WRITE', 'FI_REMOTE_WRITE']);
const peerRegion = await server.domain.allocate(8192, ['FI_WRITE', 'FI_REMOTE_WRITE']);
const remote = ep.domain.remote(peerRegion.descriptor());
const arrival = peerRegion.slice(4095);
const mark = peerRegion.slice(8191);
peerRegion.bytes[4095] = 0xff;

const pong = async () => {
  const back = server.batch();
  await back.submit({ until: { byte: arrival, value: 0 } });
  const to = server.domain.remote(region.descriptor());
  back.write(peerRegion.slice(4096, 8192), server.av.insert(ep.address), to);
  const until = { byte: arrival, value: 1 };
  await back.submit({ times: 999, mark: { byte: mark, value: 0 }, until });
  await back.submit({ mark: { byte: mark, value: 999 % 256 } });
};
const replies = pong();

// HERE

await replies;
await ep.write(region.slice(0, 8), peer, remote);
await ep.close();
await server.close();
