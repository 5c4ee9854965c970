// Detaches buffers while the network uses them (arguments: provider, driver). It combines every way to detach a
// buffer with every kind of operation. Then everything is garbage-collected, and the memory must still exist.
// Needs --expose-gc, and MALLOC_MMAP_THRESHOLD_ so that freed memory is unmapped.
import { MessageChannel } from 'node:worker_threads';
import { open } from 'libfabric';
import { turn } from './lifecycle-busy.mjs';

const [provider, driver] = process.argv.slice(2);
const SIZE = 1 << 18;
const CAPS = ['FI_MSG', 'FI_TAGGED', ...(provider === 'udp' ? [] : ['FI_RMA'])];

const byteStream = (pull) => new ReadableStream({ type: 'bytes', pull });

const ways = {
  structuredClone: (bytes) => structuredClone(bytes, { transfer: [bytes.buffer] }),
  postMessage: (bytes) => {
    const { port1, port2 } = new MessageChannel();
    port1.postMessage(bytes, [bytes.buffer]);
    port1.close();
    port2.close();
  },
  enqueue: (bytes) =>
    byteStream((controller) => controller.enqueue(bytes))
      .getReader()
      .read(),
  'BYOB read': (bytes) => {
    byteStream(() => new Promise(() => {}))
      .getReader({ mode: 'byob' })
      .read(bytes);
  },
  respondWithNewView: async (bytes) => {
    const stream = byteStream((controller) => {
      controller.byobRequest.view.fill(0, 0, 1);
      controller.byobRequest.respond(1);
    });
    const { value } = await stream.getReader({ mode: 'byob' }).read(bytes.subarray(SIZE - 1));
    value.fill(9);
  },
};
for (const method of ['transfer', 'transferToFixedLength']) {
  if (method in ArrayBuffer.prototype) ways[method] = ({ buffer }) => buffer[method]();
}

const fresh = () => new Uint8Array(SIZE);
const makers = Object.keys(ways).map((way) => [way, fresh, ways[way]]);
// Growing moves the memory if no room was reserved for it.
const page = 65_536;
makers.push([
  'WebAssembly.Memory.grow',
  () => {
    const memory = new WebAssembly.Memory({ initial: SIZE / page });
    const bytes = new Uint8Array(memory.buffer);
    bytes.memory = memory;
    return bytes;
  },
  (bytes) => bytes.memory.grow(1),
]);

async function collect() {
  for (let i = 0; i < 3; i++) {
    globalThis.gc();
    await new Promise(setImmediate);
  }
}

const a = await open({ provider, driver, caps: CAPS });
const b = await open({ provider, driver, caps: CAPS });
turn(a, b);
const peer = a.av.insert(b.address);
const back = b.av.insert(a.address);
const sent = new Uint8Array(SIZE).map((_, i) => i * 7);
const same = (bytes, length = SIZE) =>
  Buffer.compare(bytes.subarray(0, length), sent.subarray(0, length)) === 0;
// The peer's memory may be written after the write completes. Messages keep the peer's engine awake. A copy is compared,
// because memcmp() may report equality while the memory changes: it reads the first byte that differs again.
async function becomesSame(region) {
  const end = performance.now() + 5000;
  while (performance.now() < end) {
    if (same(region.bytes.slice())) return true;
    await exchangeMessage();
  }
  return false;
}
const rma = a.write !== undefined;

async function exchangeMessage() {
  const received = b.recv(new Uint8Array(8));
  await Promise.all([a.send(new Uint8Array(8), peer), received]);
  const answered = a.recv(new Uint8Array(8));
  await Promise.all([b.send(new Uint8Array(8), back), answered]);
}

// Each function starts an operation with a buffer, detaches the buffer, and returns whether the result was right.
const operations = {
  recv: async (make, detach) => {
    const bytes = make();
    const received = b.recv(bytes);
    await detach(bytes);
    return async () => {
      await a.send(sent, peer);
      return (await received).length === SIZE;
    };
  },
  send: async (make, detach) => {
    const bytes = make();
    bytes.set(sent);
    const sending = a.tsend(bytes, peer, 1);
    await detach(bytes);
    return async () => {
      const into = fresh();
      await Promise.all([b.trecv(into, null, 1), sending]);
      return same(into, SIZE - 1);
    };
  },
  multiRecv: async (make, detach) => {
    const bytes = make();
    const messages = b.postMultiRecv?.(bytes);
    if (messages === undefined) return async () => true;
    await detach(bytes);
    return async () => {
      const small = sent.subarray(0, 1024);
      const next = messages.next();
      await a.send(small, peer);
      const { value } = await next;
      const good = Buffer.compare(value.bytes, small) === 0;
      await messages.return();
      return good;
    };
  },
  batch: async (make, detach) => {
    const into = make();
    const from = make();
    from.set(sent);
    const batches = [b.batch(), a.batch()];
    batches[0].trecv(into, null, 2);
    batches[1].tsend(from, peer, 2);
    const received = batches[0].submit();
    await detach(into);
    await detach(from);
    return async () => {
      await Promise.all([received, batches[1].submit()]);
      for (const each of batches) each.close();
      return true;
    };
  },
  'region as a target': async (make, detach) => {
    const bytes = make();
    const region = await b.domain.register(bytes, ['FI_REMOTE_WRITE']);
    await detach(bytes);
    return async () => {
      await a.write(sent, peer, a.domain.remote(region.descriptor()));
      const good = await becomesSame(region);
      await region.close();
      return good;
    };
  },
  'allocated region': async (_make, detach, way) => {
    const region = await b.domain.allocate(SIZE, ['FI_REMOTE_WRITE']);
    if (!way.startsWith('WebAssembly')) await detach(region.bytes);
    return async () => {
      await a.write(sent, peer, a.domain.remote(region.descriptor()));
      const good = await becomesSame(region);
      await region.close();
      return good;
    };
  },
  'read into': async (make, detach) => {
    const region = await b.domain.allocate(SIZE, ['FI_REMOTE_READ']);
    const bytes = make();
    const reading = a.read(bytes, peer, a.domain.remote(region.descriptor()));
    await detach(bytes);
    return async () => {
      await reading;
      await region.close();
      return true;
    };
  },
};

await exchangeMessage();
for (const [way, make, detach] of makers) {
  for (const [name, begin] of Object.entries(operations)) {
    if (!rma && /region|read/.test(name)) continue;
    const finish = await begin(make, detach, way);
    await collect();
    if (!(await finish())) console.log(`${way}, ${name}: the wrong bytes`);
  }
  await collect();
}
await a.close();
await b.close();
console.log('complete');
