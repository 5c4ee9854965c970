import { open } from 'libfabric';

const caps = ['FI_MSG', 'FI_RMA'];
const [ep, answering] = [
  await open({ provider: 'shm', caps }),
  await open({ provider: 'shm', caps }),
];
const peer = ep.av.insert(answering.address);
const access = ['FI_WRITE', 'FI_REMOTE_WRITE'];
const region = await ep.domain.allocate(8192, access);
const theirs = await answering.domain.allocate(8192, access);
const remote = ep.domain.remote(theirs.descriptor());
theirs.bytes[4095] = 0xff;

const pong = async () => {
  const back = answering.batch();
  await back.submit({ until: { byte: theirs.slice(4095), value: 0 } });
  const to = answering.domain.remote(region.descriptor());
  back.write(theirs.slice(4096, 4096), answering.av.insert(ep.address), to);
  const mark = (value) => ({ byte: theirs.slice(8191), value });
  await back.submit({ times: 999, mark: mark(0), until: { byte: theirs.slice(4095), value: 1 } });
  await back.submit({ mark: mark(999 % 256) });
};
const answered = pong();

// HERE

await answered;
await ep.write(region.slice(0, 8), peer, remote);
await ep.close();
await answering.close();
