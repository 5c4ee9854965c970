// The calls of an ObjectClient whose server is killed end at once.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { released } from 'libfabric';
import type { ObjectClient } from 'libfabric/objects';
import type { TransferMemory } from 'libfabric/transfer';
import { expect, onTestFinished, test } from 'vitest';
import { connectWithEngine, ending, MIB, TCP } from '../support/object-stores.js';
import { settle } from '../support/settle.js';

const RESET = /^(FI_)?ECONNRESET$/; // of the connection, or of the fabric
const SIZE = 16 * MIB;
// The engine checks its peers every 500 ms, and waits 2 s for the copies of one that is lost.
const SOON = 2500; // ms

async function prepared() {
  const root = mkdtempSync(join(tmpdir(), 'objects-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, 'b'));
  writeFileSync(join(root, 'b/large'), Buffer.alloc(SIZE, 1));
  const program = fileURLToPath(new URL('object-server.mjs', import.meta.url));
  const server = ending(fork(program, [root]));
  const [url] = (await settle(once(server, 'message'))) as [string];
  const { client, engine } = await connectWithEngine(url, TCP);
  const memory = await engine.allocate(SIZE);
  await client.head('large');
  return { server, client, engine, memory };
}

type Call = (client: ObjectClient, memory: TransferMemory) => Promise<unknown>;

/** Begins a call while the server is stopped, and kills the server when it has the request. */
async function killedIn(
  { server, client, memory }: Awaited<ReturnType<typeof prepared>>,
  call: Call,
) {
  server.kill('SIGSTOP');
  const called = call(client, memory).catch((error) => error);
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
  const began = performance.now();
  server.kill('SIGKILL');
  const error = await settle(called);
  return { error, elapsed: performance.now() - began };
}

const all: [string, Call][] = [
  ['head()', (client) => client.head('large')],
  ['get()', (client) => client.get('large')],
  ['get() into memory of the engine', (client, into) => client.get('large', { into })],
  ['put() of bytes', (client) => client.put('new', new Uint8Array(SIZE))],
  ['put() of a silent stream', (client) => client.put('new', new Readable({ read() {} }))],
  [
    'put() of a stream',
    (client) => client.put('new', Readable.from(Array(8).fill(Buffer.alloc(4 * MIB)))),
  ],
];

test.each(all)('%s ends with ECONNRESET', async (name, call) => {
  const { error, elapsed } = await killedIn(await prepared(), call);
  expect(error).toMatchObject({ code: expect.stringMatching(RESET) });
  expect(elapsed).toBeLessThan(SOON);
  if (name.includes('into')) await settle(released(error)); // the memory is free
});

test('stream() ends with ECONNRESET, also if others have all buffers of the pool', async () => {
  const { client, server, engine } = await prepared();
  const streams = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const stream = client.stream('large');
      await stream.next();
      return stream;
    }),
  );
  server.kill('SIGSTOP');
  const ends = streams.map(async (stream) => {
    for await (const _ of stream);
  });
  const errors = Promise.all(ends.map((end) => end.catch((error) => error.code)));
  await new Promise(setImmediate);
  const began = performance.now();
  server.kill('SIGKILL');
  expect(await settle(errors)).toEqual(Array(4).fill(expect.stringMatching(RESET)));
  expect(performance.now() - began).toBeLessThan(SOON);
  await settle(engine.close());
});
