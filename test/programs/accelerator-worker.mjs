// A worker that neither frees its memory nor closes its dmabuf. `workerData`: the module, 'libfabric/cuda' or 'libfabric/neuron'. It
// reports the descriptor, and ends at a message.
import { parentPort, workerData } from 'node:worker_threads';

const { allocate } = await import(workerData);
const memory = allocate(8192);
const dmabuf = memory.dmabuf();
memory.dmabuf().close();
parentPort.once('message', () => {
  if (dmabuf.fd < 0 || memory.freed) throw new Error('the memory is gone');
});
parentPort.postMessage(dmabuf.fd);
