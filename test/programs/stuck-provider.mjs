// The thread of an engine is in a provider call that never returns. Checks how the process and the domain end.
import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { open } from 'libfabric';
import { pair } from './lifecycle-busy.mjs';

const how = workerData?.how ?? process.argv[2];
const file = process.env.STUCK;
const code = (promise) =>
  promise.then(
    () => 'ok',
    (error) => error.code,
  );

/** An endpoint whose engine is stuck, with an operation in flight. */
async function stuck(prepare = (_engine) => {}, caps = ['FI_MSG']) {
  const { a, b, peer } = await pair('tcp', 'thread', caps);
  await prepare(a);
  writeFileSync(file, '');
  const sent = code(a.send(new Uint8Array(8), peer));
  while (!existsSync(`${file}-reached`)) await new Promise(setImmediate);
  rmSync(file);
  return { a, b, sent };
}

async function checkNewDomain() {
  const { a, b, peer } = await pair('tcp', 'thread', ['FI_MSG']);
  await Promise.all([a.send(new Uint8Array(8), peer), b.recv(new Uint8Array(8))]);
  await a.close();
  await b.close();
}

const ways = {
  close: async () => {
    const { a, b, sent } = await stuck();
    void a.recv(new Uint8Array(8)); // close() cancels it, so that nobody need handle it
    let ticks = 0;
    const ticking = setInterval(() => ticks++, 1);
    console.log('endpoint', await code(a.close()));
    clearInterval(ticking);
    console.log('send', await sent, 'the event loop went on', ticks > 50);
    console.log('domain closed', a.domain.closed);
    await b.close();
    await checkNewDomain();
    console.log('works');
  },
  call: async () => {
    const { a, b } = await stuck();
    try {
      a.domain.completionQueue();
    } catch (error) {
      console.log('completionQueue', error.code);
    }
    console.log('allocate', await code(a.domain.allocate(4096, ['FI_SEND'])));
    console.log('close', await code(a.domain.close()));
    await b.close();
    await checkNewDomain();
    console.log('works');
  },
  full: async () => {
    const { a, b } = await stuck();
    const receives = [];
    const refused = () => {
      const start = performance.now();
      receives.push(code(a.recv(new Uint8Array(8))));
      return performance.now() - start > 500;
    };
    while (!refused());
    console.log('recv', await receives.at(-1));
    console.log('close', await code(a.close()));
    await Promise.all(receives);
    await b.close();
    console.log('settled');
  },
  streams: async () => {
    const waiting = {};
    let batch;
    const { a, b } = await stuck(
      (ep) => {
        waiting.messages = ep.messages({ count: 2, size: 64 }).next();
        waiting.multiRecv = ep.multiRecv(new Uint8Array(8192)).next();
        waiting.immediates = ep.receiveQueue.immediates().next();
        waiting.arrived = ep.receiveQueue.arrived(5n);
        batch = ep.batch();
        batch.recv(new Uint8Array(8));
        waiting.batch = batch.submit();
        for (const promise of Object.values(waiting)) promise.catch(() => {});
      },
      ['FI_MSG', 'FI_MULTI_RECV'],
    );
    const ended = a.messages({ count: 2, size: 64 });
    waiting.return = ended.return();
    console.log('close', await code(a.close()));
    for (const [name, promise] of Object.entries(waiting)) {
      const text = (value) => (value?.done ? 'done' : String(value));
      console.log(name, await promise.then(text, (error) => error.code ?? error.message));
    }
    console.log('batches in flight', batch.inFlight);
    await b.close();
  },
  neighbour: async () => {
    let other;
    const { a, b } = await stuck(async ({ domain }) => {
      other = await open({ provider: 'tcp', caps: ['FI_MSG'], threadOf: domain });
    });
    const received = code(other.recv(new Uint8Array(8)));
    console.log('other', await code(other.close()), await received);
    console.log('close', await code(a.close()));
    await b.close();
    await checkNewDomain();
    console.log('works');
  },
  exit: async () => {
    await stuck();
    process.exit(7);
  },
  worker: async () => {
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { how: 'worker' } });
    await once(worker, 'message');
    console.log('terminated', await worker.terminate());
    await checkNewDomain();
    console.log('works');
  },
};

if (isMainThread) await ways[how]();
else {
  globalThis.kept = await stuck();
  parentPort.postMessage('stuck');
  setInterval(() => {}, 1e6);
}
