// libfabric/objects: a stranger who holds all connections of a server, without requests, shuts nobody out.
import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { HANG_MS } from '../support/limits.js';
import { upgrade } from '../support/object-channels.js';
import { serve, TCP } from '../support/object-stores.js';
import { closed, stranger } from '../support/strangers.js';

const LIMIT = 1050; // that node:net lets in
const GET = 'GET /b?list-type=2 HTTP/1.1\r\nHost: a\r\n\r\n';

/** A connection that has had its answer, and stays. */
async function keptAlive(port: number): Promise<Socket> {
  const socket = await stranger(port, Buffer.from(GET));
  await Promise.race([once(socket, 'data'), closed(socket)]);
  return socket;
}

const channel = async (port: number) => (await upgrade(port)).socket;

const KINDS: Record<string, (port: number) => Promise<Socket>> = {
  'connections that send nothing': (port) => stranger(port),
  'half a head': (port) => stranger(port, Buffer.from(GET.slice(0, 20))),
  'connections that are kept alive': keptAlive,
  channels: channel,
};
const ALL = Object.values(KINDS);

const portOf = (url: string) => Number(new URL(url).port);

const CROWDS = casesOf(
  [
    ['all of these', ALL] as const,
    ...Object.entries(KINDS).map(([kind, one]) => [kind, [one]] as const),
  ],
  ([kind]) => kind === 'all of these',
);

test.each(CROWDS)(
  '%s shut out no client, neither over HTTP nor over the fabric',
  async (_, kinds) => {
    const { url, server, connect } = await serve(TCP);
    const port = portOf(url);
    for (let opened = 0; opened < LIMIT; opened += 50) {
      const opening = Array.from({ length: 50 }, (_, i) => kinds[i % kinds.length]?.(port));
      await Promise.all(opening);
    }
    const count = () =>
      new Promise<number>((resolve) => server.http.getConnections((_, n) => resolve(n)));
    await expect.poll(count, { timeout: HANG_MS }).toBeGreaterThanOrEqual(1000);
    for (const options of [{ engine: undefined }, {}, { engine: undefined }, {}]) {
      const client = await connect(options as object);
      await client.put('a', 'bytes');
      expect(Buffer.from((await client.get('a')).bytes).toString()).toBe('bytes');
    }
  },
);

test('the connection that is idle the longest gives way first, and none with a request', async () => {
  const { url } = await serve(undefined);
  const port = portOf(url);
  const put = await stranger(
    port,
    Buffer.from('PUT /b/a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na'),
  );
  const [used, first, second, third] = [
    await keptAlive(port),
    await keptAlive(port),
    await channel(port),
    await keptAlive(port),
  ];
  used.write(GET);
  await once(used, 'data');
  const ends: string[] = [];
  const watched = { put, used, first, second, third };
  for (const [name, socket] of Object.entries(watched))
    socket.once(socket === second ? 'data' : 'close', () => ends.push(name));
  const last = closed(third);
  for (let opened = 0; !third.closed && opened < LIMIT; opened++) await stranger(port);
  await last;
  expect(ends).toEqual(['first', 'second', 'third']);
  const answer = once(put, 'data');
  put.write('b');
  expect(String(await answer)).toMatch(/^HTTP\/1.1 200 /);
});

test('connections that were all busy give way when they are idle', async () => {
  let answerAll = () => {};
  const asked = new Promise<void>((resolve) => {
    answerAll = resolve;
  });
  let count = 0;
  const counts = new EventEmitter();
  const { url } = await serve(undefined, {
    authorize: async () => {
      count += 1;
      counts.emit(String(count));
      await asked;
      return true;
    },
  });
  onTestFinished(() => answerAll());
  const port = portOf(url);
  const busy = () => stranger(port, Buffer.from(GET));
  const all = once(counts, '1000');
  const sockets = await Promise.all(Array.from({ length: 1000 }, busy));
  await all; // none has given way
  for (let next = 1001; next <= LIMIT; next++) {
    const one = once(counts, String(next));
    sockets.push(await busy());
    await one;
  }
  await closed(await busy()); // there is no place
  const answered = sockets.map((socket) => Promise.race([once(socket, 'data'), closed(socket)]));
  answerAll();
  await Promise.all(answered);
  expect((await fetch(`${url}/b?list-type=2`)).status).toBe(200);
});
