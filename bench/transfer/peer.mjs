// The other process of the transfer benchmarks, controlled by messages of its parent: [id, command, argument].
// It answers [id, result]. Arguments: provider, rails, bytes of its memory.
import { createServer } from 'node:http';
import { open } from 'libfabric';
import { TransferEngine } from 'libfabric/transfer';

const [provider, rails, size] = process.argv.slice(2);
const engine = await TransferEngine.open({ provider, nics: Number(rails) });
const place = await engine.allocate(Number(size));
const endpoint = await open({ provider, caps: ['FI_MSG', 'FI_RMA'] });
const region = await endpoint.domain.allocate(Number(size), ['FI_WRITE', 'FI_REMOTE_WRITE']);
let remote;
let peer;
let remoteRegion;
const offers = new Map();
const part = ({ length, pages }) => (pages ? place.pages(pages) : place.slice(0, length));

const commands = {
  meet: async ({ card, address, descriptor }) => {
    remote = await engine.peer(card);
    peer = endpoint.av.insert(Buffer.from(address, 'hex'));
    remoteRegion = endpoint.domain.remote(Buffer.from(descriptor, 'hex'));
    return {
      card: engine.card,
      address: Buffer.from(endpoint.address).toString('hex'),
      descriptor: Buffer.from(region.descriptor()).toString('hex'),
    };
  },
  offer: async ({ name, ...what }) => {
    const offer = await part(what).offer({
      access: 'write',
      to: remote,
      repeat: true,
      expires: 3_600_000,
      slices: 8192,
    });
    offers.set(name, { offer, arrivals: offer[Symbol.asyncIterator]() });
    return offer.token;
  },
  arrived: async (name) => {
    await offers.get(name).arrivals.next();
  },
  close: async (name) => {
    await offers.get(name).offer.close();
    offers.delete(name);
  },
  // Answers each arrival with a transfer of its own.
  pong: async ({ name, token, length, count }) => {
    const { arrivals } = offers.get(name);
    const grant = remote.grant(token);
    let transfer;
    for (let i = 0; i < count; i++) {
      await arrivals.next();
      await transfer;
      transfer = transfer ? transfer.again() : remote.write(place.slice(0, length), grant);
    }
    await transfer;
  },
  // The same with single writes of an endpoint.
  plainPong: async ({ length, count }) => {
    const memory = region.slice(0, length);
    for (let i = 0; i < count; i++) {
      await endpoint.cq.arrived(1);
      await endpoint.writedata(memory, 2, peer, remoteRegion);
    }
  },
  http: () =>
    new Promise((resolve) => {
      const server = createServer((_, response) => response.end(place.bytes));
      server.listen(0, '127.0.0.1', () => resolve(server.address().port));
      server.unref();
    }),
  end: async () => {
    await Promise.all([engine.close(), endpoint.close()]);
    setImmediate(() => process.exit());
  },
};

process.on('message', async ([id, command, argument]) => {
  process.send([id, (await commands[command](argument)) ?? null]);
});
process.send('ready');
