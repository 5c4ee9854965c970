import { open } from 'libfabric';

const ep = await open({ provider: 'shm', caps: ['FI_MSG', 'FI_RMA'] });
const answering = await open({ provider: 'shm', caps: ['FI_MSG', 'FI_RMA'] });
const peer = ep.av.insert(answering.address);
const region = await ep.domain.allocate(8192, ['FI_WRITE', 'FI_REMOTE_WRITE']);
const theirs = await answering.domain.allocate(8192, ['FI_WRITE', 'FI_REMOTE_WRITE']);
const remote = ep.domain.remote(theirs.descriptor());
const arrival = theirs.slice(4095);
const mark = theirs.slice(8191);
theirs.bytes[4095] = 0xff;

const pong = async () => {
  const back = answering.batch();
  await back.submit({ until: { byte: arrival, value: 0 } });
  const to = answering.domain.remote(region.descriptor());
  back.write(theirs.slice(4096, 4096), answering.av.insert(ep.address), to);
  const until = { byte: arrival, value: 1 };
  await back.submit({ times: 999, mark: { byte: mark, value: 0 }, until });
  await back.submit({ mark: { byte: mark, value: 999 % 256 } });
};
const answered = pong();

// HERE

await answered;
await ep.write(region.slice(0, 8), peer, remote);
await ep.close();
await answering.close();
