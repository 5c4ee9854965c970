// Figures of several rails: their sum, the cost of opening them, and the loss of one of them. Each function returns
// { contenders, also?, close? }: functions that do something once and resolve to milliseconds, and further figures
// that they have measured.
import { createHash, randomFillSync } from 'node:crypto';
import { open } from 'libfabric';
import { TransferEngine } from 'libfabric/transfer';
import { Links } from './links.mjs';
import { NICS, optionsOf, repeated } from './pair.mjs';

const MIB = 1 << 20;

/** All NICs against one. */
export async function fourRails(bench, size) {
  const [four, one] = [await bench.open({ nics: NICS, size }), await bench.open({ nics: 1, size })];
  return {
    contenders: {
      four: await repeated(four, 'four', four.memory.slice(0, size), { length: size }),
      one: await repeated(one, 'one', one.memory.slice(0, size), { length: size }),
    },
  };
}

/** All NICs, each with a link of so many MB/s, against the time that one link needs for the same bytes. */
export async function slowLinks(bench, size, rate) {
  const four = await bench.open({ nics: NICS, size });
  const links = new Links(bench.namespace, rate);
  return {
    contenders: {
      four: await repeated(four, 'links', four.memory.slice(0, size), { length: size }),
      link: () => Promise.resolve(size / rate / 1000),
    },
    close: () => links.close(),
  };
}

/** A new engine with its first transfer, against endpoints opened by hand with a first write on each. */
export async function cold(bench, length) {
  const pair = await bench.open({ nics: NICS, size: NICS * length });
  const names = pair.engine.rails.map(({ nic }) => nic);
  const theirs = await pair.ask('byHand', { names, length });
  const bytes = new Uint8Array(NICS * length).fill(1);
  return {
    contenders: {
      async engine() {
        const start = performance.now();
        const engine = await TransferEngine.open(optionsOf(bench.provider, NICS));
        const memory = await engine.register(bytes);
        const meeting = { address: engine.address, length: NICS * length };
        const { address, token } = await pair.ask('newcomer', meeting);
        const remote = await engine.peer(address);
        await remote.write(memory, token);
        const took = performance.now() - start;
        await pair.ask('goodbye', engine.address);
        await engine.close();
        return took;
      },
      async hand() {
        const start = performance.now();
        const endpoints = await Promise.all(
          names.map((domain) =>
            open({ provider: bench.provider, domain, caps: ['FI_MSG', 'FI_RMA'] }),
          ),
        );
        const regions = [];
        const writing = endpoints.map(async ({ domain, av, write }, i) => {
          const region = await domain.register(bytes, ['FI_WRITE']);
          regions.push(region);
          const peer = av.insert(Buffer.from(theirs[i].address, 'hex'));
          const remote = domain.remote(Buffer.from(theirs[i].descriptor, 'hex'));
          await write.call(endpoints[i], region.slice(i * length, (i + 1) * length), peer, remote);
        });
        await Promise.all(writing);
        const took = performance.now() - start;
        await Promise.all(regions.map((region) => region.close()));
        await Promise.all(endpoints.map((endpoint) => endpoint.close()));
        return took;
      },
    },
  };
}

// The faults of one NIC, on the sender's and the receiver's host in turn.
const FAULTS = {
  down: (links, where) => links.add('portDown', where),
  frozen: (links, where) => links.add('freeze', where),
  slow: (links, { node, nic }, rate) => {
    links.limit(node, nic, rate / 100);
    return { remove: () => links.limit(node, nic, rate) };
  },
};

/** A transfer in which one of the NICs fails in the middle, against the rate of the other three. */
export async function lostRail(bench, what, size, rate) {
  const four = await bench.open({ nics: NICS, size });
  const names = four.engine.rails.map(({ nic }) => nic);
  const baseline = Math.min(size, 256 * MIB);
  const three = await bench.open({ nics: names.slice(1), size: baseline });
  const links = new Links(bench.namespace, rate);
  await healed(four, 'first'); // the rails have connected: `cold` measures that
  const withoutIt = await repeated(three, 'three', three.memory.slice(0, baseline), {
    length: baseline,
  });
  const pauses = [];
  let round = 0;
  return {
    contenders: {
      // The time that all bytes would take at the rate since the fault.
      async lost() {
        const place = { node: round % 2, nic: 0 };
        const name = `lost ${round++}`;
        randomFillSync(four.memory.bytes.subarray(0, MIB));
        for (let at = MIB; at < size; at += MIB) four.memory.bytes.copyWithin(at, at - MIB + 1, at);
        const hash = createHash('sha1').update(four.memory.bytes).digest('hex');
        const token = await four.ask('offerOnce', { name, length: size });
        const transfer = four.remote.write(four.memory, token);
        const watch = new Watch(transfer);
        const before = await watch.until(size / 2);
        const start = performance.now();
        const fault = FAULTS[what](links, place, rate);
        await watch.until(size);
        const took = performance.now() - start;
        pauses.push(watch.pause);
        const arrived = await four.ask('hash', name);
        if (arrived !== hash) throw new Error(`wrong bytes after a NIC was ${what}`);
        fault.remove();
        await transfer;
        await four.ask('released', name);
        await healed(four, name);
        return (took * size) / (size - before);
      },
      three: async () => ((await withoutIt()) * size) / baseline,
    },
    also: () => [{ name: `longest pause, NIC ${what}`, size, times: [pauses], worst: 100 }],
    close: () => links.close(),
  };
}

/** Watches the bytes of a transfer, and its longest interval without progress. */
class Watch {
  pause = 0; // ms
  #transfer;
  #done = 0;
  #since = performance.now();
  #arrived = false;

  constructor(transfer) {
    this.#transfer = transfer;
    const arrived = () => {
      this.#arrived = true;
    };
    transfer.arrived.then(arrived, arrived);
  }

  /** Resolves to the bytes when there are as many, or the transfer has ended. */
  async until(bytes) {
    for (;;) {
      const done = this.#transfer.report().byteLength;
      const now = performance.now();
      if (done > this.#done || this.#arrived) {
        this.pause = Math.max(this.pause, now - this.#since);
        this.#since = now;
        this.#done = done;
      }
      if (this.#arrived || (done >= bytes && bytes < this.#transfer.total)) return done;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}

/** Transfers until every rail works again. */
async function healed(pair, name) {
  let rails;
  for (let i = 0; i < 100; i++) {
    const length = Math.min(pair.memory.length, 64 * MIB);
    const token = await pair.ask('offerOnce', { name: `${name} ${i}`, length });
    const report = await pair.remote.write(pair.memory.slice(0, length), token);
    await pair.ask('released', `${name} ${i}`);
    rails = pair.engine.rails.map(({ state }, k) => ({ state, bytes: report.rails[k].byteLength }));
    if (rails.every(({ state, bytes }) => state === 'up' && bytes > 0)) return;
  }
  throw new Error(`a rail did not come back: ${JSON.stringify(rails)}`);
}
