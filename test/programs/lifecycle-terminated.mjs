// Workers that are terminated at random moments while other endpoints continue. Arguments: provider, seed, number
// of workers.
import { fileURLToPath } from 'node:url';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { open } from 'libfabric';
import { pair, turn } from './lifecycle-busy.mjs';

const CAPS = ['FI_MSG', 'FI_RMA'];
const DRIVERS = ['thread', 'loop', 'thread', 'manual'];
const STEPS = 8;
const FIRST_MS = 8; // open() for the first time
const LATER_MS = 2;

// Opens, uses and closes everything repeatedly, and reports the start of each step.
async function worker() {
  const { provider, driver, step } = workerData;
  const begin = (number) => {
    Atomics.store(step, 0, number);
    Atomics.notify(step, 0);
  };
  for (;;) {
    begin(1);
    const ep = await open({ provider, driver, caps: CAPS });
    begin(2);
    const { domain } = ep;
    turn(ep);
    const cq = domain.completionQueue();
    const more = domain.endpoint(ep.info, { av: domain.addressVector(), cq });
    begin(3);
    const self = ep.av.insert(ep.address);
    await more.av.insertMany([ep.address, more.address]);
    begin(4);
    const region = await domain.allocate(4096, ['FI_REMOTE_WRITE']);
    const registered = await domain.register(new Uint8Array(4096), ['FI_WRITE']);
    const remote = domain.remote(region.descriptor());
    begin(5);
    const received = ep.recv(new Uint8Array(64));
    await Promise.all([ep.send(new Uint8Array(64), self), received]);
    begin(6);
    const batch = ep.batch();
    for (let i = 0; i < 4; i++) batch.write(registered, self, remote);
    await batch.submit();
    const stream = ep.messages({ count: 4, size: 64 });
    await Promise.all([ep.send(new Uint8Array(8), self), stream.next()]);
    await stream.return();
    begin(7);
    await Promise.all([region.close(), registered.close(), more.close()]);
    begin(8);
    await ep.close();
  }
}

function start(provider, driver) {
  const step = new Int32Array(new SharedArrayBuffer(4));
  const thread = new Worker(fileURLToPath(import.meta.url), {
    workerData: { provider, driver, step },
  });
  thread.on('error', (error) => {
    throw error;
  });
  return { thread, step };
}

async function reached(step, number) {
  for (let at = 0; at < number; at = Atomics.load(step, 0)) {
    await Atomics.waitAsync(step, 0, at).value;
  }
}

async function main(provider, seed, count) {
  let state = Number(seed);
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const { a, b, peer } = await pair(provider, 'thread');
  let next = start(provider, DRIVERS[0]);
  for (let i = 1; i <= count; i++) {
    const { thread, step } = next;
    next = start(provider, DRIVERS[i % DRIVERS.length]);
    // Most resources are acquired in the first step.
    const number = random() < 0.5 ? 1 : 1 + Math.floor(random() * STEPS);
    await reached(step, number);
    const moment = performance.now() + random() * (number === 1 ? FIRST_MS : LATER_MS);
    while (performance.now() < moment);
    const ended = thread.terminate();
    await Promise.all([b.recv(new Uint8Array(64)), a.send(new Uint8Array(64), peer)]);
    await ended;
  }
  await next.thread.terminate();
  await a.close();
  await b.close();
  console.log(`${count} ended, seed ${seed}`);
}

if (isMainThread) await main(...process.argv.slice(2));
else await worker();
