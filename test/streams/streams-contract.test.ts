// Each stream of the package does what a PassThrough does with the same writer and the same reader.
import '../support/softefa.js';
import { PassThrough, Readable } from 'node:stream';
import fc from 'fast-check';
import type { TransferMemory } from 'libfabric/transfer';
import { describe, expect, test } from 'vitest';
import { casesOf, slow } from '../support/cases.js';
import { enginePair } from '../support/engines.js';
import { pair as socketPair } from '../support/net-pair.js';
import { serve } from '../support/object-stores.js';
import { howOften } from '../support/properties.js';
import { type Ends, observe, programs } from '../support/stream-programs.js';

const MOST = 2 ** 20; // bytes of a program
const RUNS = slow ? 200 : 12;

type Engines = Awaited<ReturnType<typeof enginePair>>;

const engines = (provider: string) => enginePair({ provider, nics: 1 });

/** The streams between two engines. */
const BETWEEN: Record<string, (engines: Engines) => Ends | Promise<Ends>> = {
  'remote.writable() to engine.incoming()': ({ b, toA, toB }) => {
    const incoming = b.incoming({ from: toA });
    return { writable: toB.writable(incoming.token), readable: () => incoming };
  },
  'engine.outgoing() to remote.download()': ({ b, toA, toB }) => {
    const outgoing = b.outgoing({ to: toA });
    return { writable: outgoing, readable: () => toB.download(outgoing.token) };
  },
  'remote.upload() to engine.incoming()': ({ b, toA, toB }) => {
    const incoming = b.incoming({ from: toA });
    const writable = new PassThrough();
    toB.upload(writable, incoming.token).catch((error) => writable.destroy(error));
    return { writable, readable: () => incoming };
  },
  'outgoing.sendFrom() to remote.download()': ({ b, toA, toB }) => {
    const outgoing = b.outgoing({ to: toA });
    const writable = new PassThrough();
    outgoing.sendFrom(writable).catch((error) => writable.destroy(error));
    return { writable, readable: () => toB.download(outgoing.token) };
  },
  'remote.writable() to memory of an offer': async ({ b, toA, toB }) => {
    const memory = await b.allocate(MOST);
    const offer = await memory.offer({ access: 'write', to: toA });
    const readable = async () => readableOf(memory, (await offer.arrived).length);
    return { writable: toB.writable(offer.token), readable, isLater: true };
  },
  'memory.writable() to memory.readable()': async ({ b }) => {
    const memory = await b.allocate(MOST);
    const { writable, length } = countedWritable(memory);
    return { writable, readable: () => readableOf(memory, length()), isLater: true };
  },
  'memory.writable() to transfer.readable() of a peer': async ({ a, b, toA, toB }) => {
    const [theirs, ours] = [await b.allocate(MOST), await a.allocate(MOST)];
    const { writable, length } = countedWritable(theirs);
    const readable = async () => {
      if (length() === 0) return readableOf(ours, 0);
      const offer = await theirs.slice(0, length()).offer({ access: 'read', to: toA });
      return toB.read(offer.token, ours.slice(0, length())).readable();
    };
    return { writable, readable, isLater: true };
  },
};

/** A writable of memory, and the bytes that were written to it. */
function countedWritable(memory: TransferMemory) {
  let length = 0;
  const writable = memory.writable();
  const { _write } = writable;
  writable._write = (bytes: Buffer, encoding, callback) => {
    length += bytes.length;
    _write.call(writable, bytes, encoding, callback);
  };
  return { writable, length: () => length };
}

const readableOf = (memory: TransferMemory, length: number): Readable =>
  length === 0 ? Readable.from([], { objectMode: false }) : memory.readable({ end: length });

async function checkAgainstPassThrough(open: () => Ends | Promise<Ends>, runs: number) {
  await fc.assert(
    fc.asyncProperty(programs, async (program) => {
      const through = new PassThrough();
      const expected = await observe({ writable: through, readable: () => through }, program);
      expect(await observe(await open(), program)).toEqual(expected);
    }),
    howOften(runs),
  );
}

const providers = casesOf(['shm', 'tcp', 'efa'], (provider) => provider !== 'tcp');

describe.each(providers)('%s', (provider) => {
  test.each(Object.keys(BETWEEN))('%s', async (name) => {
    const pair = await engines(provider);
    await checkAgainstPassThrough(() => (BETWEEN[name] as (typeof BETWEEN)[string])(pair), RUNS);
  });
});

test.each([undefined, { provider: 'shm' }])(
  'objects.put() to objects.stream(), fabric: %o',
  async (fabric) => {
    const { connect } = await serve(fabric, { pieceSize: 16 * 1024 });
    const client = await connect();
    await checkAgainstPassThrough(() => {
      const writable = new PassThrough();
      const stored = client.put('key', writable);
      const read = async function* () {
        await stored;
        yield* client.stream('key');
      };
      const readable = () => Readable.from(read(), { objectMode: false });
      return { writable, readable, isLater: true };
    }, RUNS);
  },
);

test.each(['shm', 'none'])('sockets of libfabric/net, fabric: %s', async (provider) => {
  const options = provider === 'none' ? {} : { provider };
  await checkAgainstPassThrough(async () => {
    const [client, peer] = await socketPair(options as { provider: 'shm' });
    client.resume(); // the end of the peer, which follows that of the client
    return { writable: client as never, readable: () => peer as never };
  }, 10);
});
