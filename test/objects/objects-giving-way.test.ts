// libfabric/objects: channels that give way to other clients. Their own clients notice nothing.
import type { ObjectClient } from 'libfabric/objects';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Channels } from '../../dist/objects/channel-server.js';
import { pattern, same } from '../support/bytes.js';
import { upgrade } from '../support/object-channels.js';
import { MIB, serve, TCP } from '../support/object-stores.js';

/** A client with small buffers, and what lets its channel give way if it is idle. */
async function prepared() {
  const attach = vi.spyOn(Channels.prototype, 'attach');
  onTestFinished(() => attach.mockRestore());
  const { connect } = await serve(TCP, { pieceSize: 256 * 1024 });
  const channels = attach.mock.contexts[0] as Channels;
  const client = await connect();
  let given = 0;
  const giveWay = () => {
    if (channels.makeRoom()) given += 1;
  };
  return { client, giveWay, given: () => given };
}

/** Lets the channel give way before each turn of the event loop until the work is done. */
async function always<T>(giveWay: () => void, work: Promise<T>): Promise<T> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  const again = () => {
    giveWay();
    if (!isDone) setImmediate(again);
  };
  again();
  return done;
}

const BYTES = pattern(3 * MIB);

test.each<[string, (client: ObjectClient, giveWay: () => void) => Promise<Uint8Array>]>([
  [
    'a stream that is read slowly',
    async (client, giveWay) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of client.stream('long')) {
        pieces.push(piece);
        giveWay();
      }
      return Buffer.concat(pieces);
    },
  ],
  [
    'a put() of a slow source',
    async (client, giveWay) => {
      const slow = async function* () {
        for (let at = 0; at < BYTES.length; at += MIB / 2) {
          yield BYTES.subarray(at, at + MIB / 2);
          giveWay();
        }
      };
      await client.put('new', slow());
      return (await client.get('new')).bytes;
    },
  ],
])('%s goes on', async (_, call) => {
  const { client, giveWay, given } = await prepared();
  await client.put('long', BYTES);
  giveWay();
  expect(same(await call(client, giveWay), BYTES)).toBe(true);
  expect(given()).toBeGreaterThan(1);
});

test('requests on the way to a channel that gives way are sent again, and none is answered twice', async () => {
  const { client, giveWay, given } = await prepared();
  await client.put('0', 'first');
  const work = async () => {
    for (let i = 1; i <= 50; i++) {
      // A PUT that had been begun before would be refused.
      const puts = ['a', 'b', 'c'].map((of) => client.put(`${i}${of}`, of, { ifNoneMatch: '*' }));
      await Promise.all(puts);
    }
  };
  await always(giveWay, work());
  expect(given()).toBeGreaterThan(10);
  let found = 0;
  for await (const _ of client.list()) found += 1;
  expect(found).toBe(151);
});

test('a server whose connections are all idle channels refuses no client', async () => {
  const { server, url } = await serve(undefined);
  const port = Number(new URL(url).port);
  const open = () => upgrade(port).then(({ status }) => status);
  for (let opened = 0; opened < 1100; opened += 20)
    expect(await Promise.all(Array.from({ length: 20 }, open))).toEqual(Array(20).fill(101));
  const counted = new Promise((resolve) => server.http.getConnections((_, n) => resolve(n)));
  expect(await counted).toBeGreaterThan(900);
  for (let i = 0; i < 10; i++) expect((await fetch(`${url}/b?list-type=2`)).status).toBe(200);
});

test('a client with an engine has one connection', async () => {
  const { server, connect } = await serve(TCP);
  const client = await connect();
  await client.createBucket().catch(() => {});
  const connections = () =>
    new Promise((resolve) => server.http.getConnections((_, count) => resolve(count)));
  await expect.poll(connections, { timeout: 5000 }).toBe(1);
});
