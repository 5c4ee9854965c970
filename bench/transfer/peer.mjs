// The other process of the transfer benchmarks, controlled by messages of its parent: [id, command, argument].
// It answers [id, result], or [id, null, reason]. Argument: { options, size, plain } as JSON, of openPair().
import { createHash } from 'node:crypto';
import { open as openFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { open } from 'libfabric';
import { TransferEngine } from 'libfabric/transfer';

const EXPIRES = 3_600_000;
const { options, size, plain } = JSON.parse(process.argv[2]);
const { nics: _, mapMemory: __, ...endpointOptions } = options;
const engine = await TransferEngine.open(options);
const own = await engine.allocate(size);
const endpoints = [];
const memories = []; // of the endpoints by hand
let region;
let remote;
let peer;
let remoteRegion;
const offers = new Map();
const saving = new Map();
let isReading = false;
const others = []; // more engines: { engine, memory, parent }
const part = ({ length, pages }) => (pages ? own.pages(pages) : own.slice(0, length));
const hex = (bytes) => Buffer.from(bytes).toString('hex');

async function openPlain(more) {
  const endpoint = await open({ ...endpointOptions, caps: ['FI_MSG', 'FI_RMA'], ...more });
  endpoints.push(endpoint);
  return endpoint;
}

if (plain) {
  const endpoint = await openPlain();
  region = await endpoint.domain.allocate(size, ['FI_WRITE', 'FI_REMOTE_WRITE']);
}

async function readAll() {
  isReading = true;
  const notifications = engine.notifications();
  for (let over = false; !over; ) over = (await notifications.next()).done;
}

const commands = {
  meet: async ({ address }) => {
    remote = await engine.peer(address);
    return { address: engine.address };
  },
  meetPlain: ({ address, descriptor }) => {
    const [endpoint] = endpoints;
    peer = endpoint.av.insert(Buffer.from(address, 'hex'));
    remoteRegion = endpoint.domain.remote(Buffer.from(descriptor, 'hex'));
    return { address: hex(endpoint.address), descriptor: hex(region.descriptor()) };
  },
  offer: async ({ name, ...what }) => {
    const offer = await part(what).offer({
      access: 'write',
      to: remote,
      repeat: true,
      expires: EXPIRES,
      slices: 8192,
    });
    offers.set(name, { offer, arrivals: offer[Symbol.asyncIterator]() });
    return offer.token;
  },
  close: async (name) => {
    await offers.get(name).offer.close();
    offers.delete(name);
  },
  arrived: async (name) => {
    await offers.get(name).arrivals.next();
  },
  // An offer for one transfer, whose bytes are compared with a hash.
  offerOnce: async ({ name, length, access = 'write' }) => {
    const offer = await own.slice(0, length).offer({ access, to: remote, expires: EXPIRES });
    offers.set(name, { offer });
    return offer.token;
  },
  // A stream that is saved to a file.
  saveIncoming: async (path) => {
    const incoming = engine.incoming({ from: remote });
    const file = await openFile(path, 'r+');
    saving.set(
      path,
      incoming.saveTo(file).then(() => file.close()),
    );
    return incoming.token;
  },
  saved: (path) => saving.get(path),
  hash: async (name) => {
    const { offer } = offers.get(name);
    const { bytes } = await offer.arrived;
    return createHash('sha1').update(bytes).digest('hex');
  },
  released: async (name) => {
    await offers.get(name).offer.released;
    offers.delete(name);
  },
  // Many offers of the same bytes, each for one transfer.
  offers: async ({ count, length }) => {
    const into = own.slice(0, length);
    const many = Array.from({ length: count }, () => into.offer({ access: 'write', to: remote }));
    return (await Promise.all(many)).map(({ token }) => token);
  },
  // Answers each arrival with a transfer of its own.
  pong: async ({ name, token, length, count }) => {
    const { arrivals } = offers.get(name);
    const grant = remote.grant(token);
    let transfer;
    for (let i = 0; i < count; i++) {
      await arrivals.next();
      await transfer;
      transfer = transfer ? transfer.repeat() : remote.write(own.slice(0, length), grant);
    }
    await transfer;
  },
  // The same with single writes of an endpoint.
  plainPong: async ({ length, count, flags }) => {
    const [endpoint] = endpoints;
    const memory = region.slice(0, length);
    for (let i = 0; i < count; i++) {
      await endpoint.receiveQueue.arrived(1);
      await endpoint.writedata(memory, 2, peer, remoteRegion, { flags });
    }
  },
  plainArrived: ({ data, count }) => endpoints[0].receiveQueue.arrived(data, count),
  // An engine that is not yet a peer of this one, and an offer to it.
  newcomer: async ({ address, length }) => {
    const to = await engine.peer(address);
    const offer = await own.slice(0, length).offer({ access: 'write', to });
    offers.set(address, { offer, to });
    return { address: engine.address, token: offer.token };
  },
  goodbye: async (address) => {
    const { offer, to } = offers.get(address);
    offers.delete(address);
    await offer.released;
    await to.close();
  },
  // Endpoints by hand, each with memory.
  byHand: ({ names, length }) =>
    Promise.all(
      names.map(async (name) => {
        const endpoint = await openPlain({ domain: name });
        const memory = await endpoint.domain.allocate(length, ['FI_REMOTE_WRITE']);
        memories.push(memory);
        return { address: hex(endpoint.address), descriptor: hex(memory.descriptor()) };
      }),
    ),
  // More engines, each with a part of its own.
  engines: async ({ count, address, length }) => {
    for (let i = 0; i < count; i++) {
      const another = await TransferEngine.open(options);
      others.push({
        engine: another,
        memory: await another.allocate(length),
        parent: await another.peer(address),
      });
    }
    return others.map(({ engine: { address: own } }) => own);
  },
  // An offer of each of these engines.
  offersOf: async (engines) => {
    const made = engines.map((i) =>
      others[i].memory.offer({ access: 'write', to: others[i].parent }),
    );
    return (await Promise.all(made)).map(({ token }) => token);
  },
  readNotifications: () => {
    if (!isReading) readAll();
  },
  http: () =>
    new Promise((resolve) => {
      const server = createServer((_, response) => response.end(own.bytes));
      server.listen(0, '127.0.0.1', () => resolve(server.address().port));
      server.unref();
    }),
  end: async () => {
    const engines = [engine, ...others.map((other) => other.engine)];
    // One at a time: a thousand threads that close at once slow each other down for minutes.
    for (const each of [...engines, ...endpoints]) await each.close();
    setImmediate(() => process.exit());
  },
};

process.on('message', async ([id, command, argument]) => {
  try {
    process.send([id, (await commands[command](argument)) ?? null]);
  } catch (error) {
    process.send([id, null, String(error?.stack ?? error)]);
  }
});
process.on('disconnect', () => process.exit());
process.send('ready');
