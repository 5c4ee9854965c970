// Checks which objects may be garbage-collected. Arguments: provider, driver, what. Needs --expose-gc.
import { Fabric, getInfo, open } from 'libfabric';
import { pair, turn } from './lifecycle-busy.mjs';

const [provider, driver, what] = process.argv.slice(2);

async function collect(condition) {
  const end = performance.now() + 5000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`still not true: ${condition}`);
    globalThis.gc();
    await new Promise(setImmediate);
  }
}

const ways = {
  // A domain that is never closed: a warning, and the provider's resources stay.
  domain: async () => {
    let warning;
    process.on('warning', (given) => {
      warning = given;
    });
    await (async () => {
      const ep = await open({ provider, driver, caps: ['FI_MSG', 'FI_RMA'] });
      await ep.domain.allocate(4096, ['FI_REMOTE_WRITE']);
      for (let i = 0; i < 100; i++) ep.recv(new Uint8Array(64)).catch(() => {});
    })();
    await collect(() => warning !== undefined);
    const again = await pair(provider, driver);
    await again.a.close();
    await again.b.close();
    console.log(warning.name);
    process.exit();
  },
  // A region that is never closed: a warning, and peers can still access its memory.
  region: async () => {
    const { a, b, peer } = await pair(provider, driver);
    let warning;
    process.on('warning', (given) => {
      warning = given;
    });
    const descriptor = await (async () => {
      const region = await b.domain.allocate(4096, ['FI_REMOTE_READ']);
      region.bytes.fill(7);
      return region.descriptor();
    })();
    await collect(() => warning !== undefined);
    console.log(warning.name);
    const into = new Uint8Array(4096);
    await a.read(into, peer, a.domain.remote(descriptor));
    console.log(into.every((byte) => byte === 7));
    await a.close();
    await b.close();
  },
  // Objects that become unreachable one by one, while their domain is open.
  objects: async () => {
    const [info] = getInfo({
      fabricAttr: { provName: provider },
      epAttr: { type: 'FI_EP_RDM' },
      caps: ['FI_MSG'],
    });
    const fabric = Fabric.open(info);
    const domain = fabric.domain(info, { driver });
    let collected = 0;
    const registry = new FinalizationRegistry(() => collected++);
    (() => {
      for (let i = 0; i < 10; i++) {
        const av = domain.addressVector();
        const ep = domain.endpoint(info, { av, cq: domain.completionQueue() });
        ep.batch().recv(new Uint8Array(8));
        ep.recv(new Uint8Array(8)).catch(() => {});
        registry.register({}, i);
      }
    })();
    await collect(() => collected === 10);
    await domain.close();
    await fabric.close();
    console.log('closed');
  },
  // Posted receives hold their buffers.
  receives: async () => {
    const { a, b, peer } = await pair(provider, driver);
    const COUNT = 1000;
    const received = Array.from({ length: COUNT }, () => {
      const buffer = new Uint8Array(1024);
      return b.recv(buffer).then(() => buffer);
    });
    for (let i = 0; i < 20; i++) {
      const garbage = Array.from({ length: 1000 }, () => new Uint8Array(1024).fill(0xee));
      if (garbage.length === 0) throw new Error('never');
      globalThis.gc();
      await new Promise(setImmediate);
    }
    for (let i = 0; i < COUNT; i++) await a.send(new Uint8Array(1024).fill(i), peer);
    const buffers = await Promise.all(received);
    console.log(buffers.every((buffer, i) => buffer.every((byte) => byte === (i & 255))));
    await a.close();
    await b.close();
  },
  // Short-lived buffers and remote regions free their slots.
  short: async () => {
    const SIZE = 16_384;
    const TOGETHER = 20;
    const { a, b, peer } = await pair(provider, driver);
    const messages = b.messages({ count: 64, size: SIZE });
    (async () => {
      for await (const _ of messages);
    })();
    const region = await b.domain.allocate(64, ['FI_REMOTE_READ']);
    const descriptor = region.descriptor();
    const round = async () => {
      // Together, because each wait takes milliseconds on a busy machine.
      for (let i = 0; i < 5000 / TOGETHER; i++) {
        const sends = Array.from({ length: TOGETHER }, () => {
          a.domain.remote(descriptor);
          return a.send(new Uint8Array(SIZE), peer);
        });
        await Promise.all(sends);
      }
      for (let i = 0; i < 5; i++) {
        globalThis.gc();
        await new Promise(setImmediate);
      }
      return process.memoryUsage();
    };
    await round();
    const before = await round();
    await round();
    const after = await round();
    const grown = after.heapUsed - before.heapUsed;
    const bigger = after.rss - before.rss;
    console.log(grown < 2e6 ? 'heap' : `heap grew by ${grown}`);
    console.log(bigger < 80e6 ? 'rss' : `rss grew by ${bigger}`);
    await messages.return();
    await region.close();
    await a.close();
    await b.close();
  },
  // More buffers than a table has slots, one after the other.
  many: async () => {
    const ep = await open({ provider, driver, caps: ['FI_MSG', 'FI_RMA'] });
    turn(ep);
    const region = await ep.domain.allocate(64, ['FI_REMOTE_READ']);
    const descriptor = region.descriptor();
    for (let i = 0; i < 1_200_000; i++) {
      ep.domain.remote(descriptor).close();
    }
    console.log(ep.domain.remote(descriptor).length);
    await region.close();
    await ep.close();
  },
};

await ways[what]();
