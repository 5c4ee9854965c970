// The calls of an ObjectClient that is closed while they are in progress.
import type { ObjectClient } from 'libfabric/objects';
import { expect, onTestFinished, test } from 'vitest';
import { HANG_MS } from '../support/limits.js';
import { MIB, serve, TCP } from '../support/object-stores.js';
import { settle } from '../support/settle.js';

async function all(generator: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of generator);
}

async function* endless() {
  for (;;) yield new Uint8Array(MIB);
}

const calls: Record<string, (client: ObjectClient) => Promise<unknown>> = {
  'get()': (client) => client.get('long'),
  'stream()': (client) => all(client.stream('long')),
  'put() of few bytes': (client) => client.put('new', 'few'),
  'put() of many bytes': (client) => client.put('new', new Uint8Array(9 * MIB)),
  'put() of a stream': (client) => client.put('new', endless()),
  'head()': (client) => client.head('long'),
  'delete()': (client) => client.delete('long'),
  'list()': (client) => all(client.list()),
  'createBucket()': (client) => client.createBucket(),
};

const ways = {
  'over a channel': { fabric: TCP, options: {} },
  'over HTTP': { fabric: undefined, options: {} },
  'by a fetch() of the program': { fabric: undefined, options: { fetch } },
};

test.each(Object.entries(ways))('close() ends all calls %s with ERR_CLOSED', async (_, way) => {
  const held: (() => void)[] = [];
  let holds = false;
  const authorize = () =>
    new Promise<boolean>((resolve) => {
      if (holds) held.push(() => resolve(true));
      else resolve(true);
    });
  const { connect } = await serve(way.fabric, { authorize });
  const client = await connect(way.options);
  await client.put('long', new Uint8Array(9 * MIB));
  holds = true;
  onTestFinished(() => {
    for (const go of held) go();
  });
  const ends = Object.values(calls).map((call) => call(client).catch((error) => error.code));
  await expect.poll(() => held.length, { timeout: HANG_MS }).toBe(ends.length);
  holds = false; // the ends of uploads are answered
  const closing = client.close();
  expect(await settle(Promise.all(ends))).toEqual(ends.map(() => 'ERR_CLOSED'));
  await closing;
});

test('a stream and a list that are read on after close() reject with ERR_CLOSED', async () => {
  const { connect } = await serve(undefined);
  const client = await connect();
  await client.put('long', new Uint8Array(40 * MIB));
  await client.put('other', '');
  const stream = client.stream('long');
  const list = client.list({ pageSize: 1 });
  await stream.next();
  await list.next();
  await client.close();
  await expect(all(stream)).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  await expect(all(list)).rejects.toMatchObject({ code: 'ERR_CLOSED' });
});
