// Allocates memory of CUDA in a thread that does not use libfabric. A worker registers its pointer, and blocks while the
// registration runs. Prints what free() does meanwhile, and after the worker has ended.
import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

if (isMainThread) {
  const { allocate } = await import('libfabric/cuda');
  const memory = allocate(8192);
  const tell = () => {
    try {
      memory.free();
    } catch ({ code }) {
      console.log(code);
    }
    console.log(memory.freed);
  };
  const { type, pointer, byteLength, device } = memory;
  const go = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { memory: { type, pointer, byteLength, device }, go },
  });
  await once(worker, 'message');
  tell();
  Atomics.store(go, 0, 1);
  Atomics.notify(go, 0);
  await once(worker, 'exit');
  tell();
} else {
  const { open } = await import('libfabric');
  const ep = await open({ provider: 'shm', caps: ['FI_MSG', 'FI_HMEM'] });
  const registering = ep.domain.register(workerData.memory, ['FI_SEND']);
  parentPort.postMessage('registering');
  Atomics.wait(workerData.go, 0, 0);
  await registering.catch(() => {}); // this libfabric may have no CUDA
  await ep.close();
}
