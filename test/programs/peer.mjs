// The second process of a test: performs the operations that its parent requests over IPC.
import { open } from 'libfabric';

const [provider, domain] = process.argv.slice(2);
const caps = ['FI_MSG', 'FI_TAGGED', 'FI_RMA'];
const node = provider === 'shm' || provider === 'efa' ? {} : { node: '127.0.0.1' };
const ep = await open({ provider, caps, driver: 'thread', ...node, ...(domain && { domain }) });
const region = await ep.domain.allocate(2 ** 20, ['FI_REMOTE_WRITE', 'FI_REMOTE_READ']);
const delivered = { flags: ['FI_DELIVERY_COMPLETE'] };
let peer;
let remote;

async function filled(length, receive) {
  const buffer = new Uint8Array(length);
  const completion = await receive(buffer);
  return { bytes: buffer.slice(0, completion.length), tag: completion.tag };
}

const calls = {
  connect(address, descriptor) {
    peer = ep.av.insert(address);
    remote = descriptor && ep.domain.remote(descriptor);
  },
  send: (bytes) => ep.send(bytes, peer),
  // Aborts a send that was posted, and closes its region.
  async abortSend(bytes) {
    const aborted = await ep.domain.register(bytes, ['FI_SEND']);
    const { operations } = ep.domain.stats();
    const controller = new AbortController();
    const sending = ep.send(aborted, peer, { signal: controller.signal });
    while (ep.domain.stats().operations === operations) await new Promise(setImmediate);
    controller.abort();
    aborted.close();
    return sending.catch(({ name }) => name);
  },
  recv: (length) => filled(length, (buffer) => ep.recv(buffer)),
  tsend: (bytes, tag) => ep.tsend(bytes, peer, tag),
  trecv: (length, tag) => filled(length, (buffer) => ep.trecv(buffer, null, tag)),
  arrived: (value, count) => ep.receiveQueue.arrived(value, count),
  write: (bytes) => ep.write(bytes, peer, remote, delivered),
  async read(length) {
    const buffer = new Uint8Array(length);
    await ep.read(buffer, peer, remote);
    return buffer;
  },
  fill: (bytes) => region.bytes.set(bytes),
  memory: (length) => region.bytes.slice(0, length),
  sysfs: () => process.env.SYSFS_PATH,
  async close() {
    await ep.close();
    process.disconnect();
  },
};

process.on('message', async ({ id, call, args }) => {
  const answer = { id };
  try {
    answer.value = await calls[call](...args);
  } catch ({ name, message, code, provErrno, stack }) {
    answer.error = { name, message, code, provErrno, stack };
  }
  if (process.connected) process.send(answer);
});
process.send({ address: ep.address, descriptor: region.descriptor() });
