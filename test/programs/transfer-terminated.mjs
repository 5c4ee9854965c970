// Terminates workers in the middle of a copy into, or out of, memory of the main thread (--expose-gc; arguments: provider, and whether offers are closed or left to end with the peer). Prints
// which offers were released, and how many shared files are still open or mapped in the end.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { TransferEngine } from 'libfabric/transfer';

const SIZE = 128 << 20;
const [provider, how] = isMainThread ? process.argv.slice(2) : [workerData.provider];
// Unused mappings also go away after some seconds. That must not be what happens here.
if (how === 'close') Object.assign(globalThis, { setInterval: () => ({ unref() {} }) });

const engine = await TransferEngine.open({
  provider,
  nics: 1,
  mapMemory: true,
  ...(provider === 'tcp' && { node: '127.0.0.1' }),
});

async function copy(access) {
  const memory = await engine.allocate(SIZE, { shared: true });
  if (access === 'write') memory.bytes.fill(1);
  parentPort.postMessage({ address: engine.address, bytes: memory.bytes });
  parentPort.once('message', async ({ address, token }) => {
    const peer = await engine.peer(address);
    await (access === 'write' ? peer.write(memory, token) : peer.read(token, memory));
  });
}

const NAME = '/memfd:libfabric-transfer-';
function openFiles() {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(NAME);
    } catch {
      return false; // the descriptor of the directory
    }
  }).length;
}
const mappings = () => readFileSync('/proc/self/maps', 'utf8').split(NAME).length - 1;

// Returns whether the worker was terminated in the middle of its copy.
async function terminateDuring(access) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { provider, access } });
  const { address, bytes } = await new Promise((resolve) => worker.once('message', resolve));
  const memory = await engine.allocate(SIZE);
  if (access === 'read') memory.bytes.fill(1);
  const target = access === 'write' ? memory.bytes : bytes;
  const peer = await engine.peer(address);
  const offer = await memory.offer({ access, to: peer });
  worker.postMessage({ address: engine.address, token: offer.token });
  while (target[0] === 0) await turn();
  await worker.terminate();
  const inCopy = target.at(-1) === 0;
  if (how === 'close') await offer.close();
  else await offer.arrived.catch(() => {});
  await offer.released;
  if (access === 'write') memory.bytes.fill(7);
  await memory.close();
  await peer.close();
  return inCopy;
}

if (isMainThread) {
  const terminate = async (access) => {
    while (!(await terminateDuring(access))); // the copy was faster
    return access;
  };
  const released = await Promise.all(['write', 'read'].map(terminate));
  await engine.close();
  for (let i = 0; i < 1000 && openFiles() + mappings() > 0; i++) {
    globalThis.gc();
    await turn();
  }
  console.log(`${released}: ${openFiles()} files, ${mappings()} mappings`);
} else {
  await copy(workerData.access);
}
