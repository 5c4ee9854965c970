// What several calls share keeps no store of the call that happened to be the first.
import '../support/softefa.js';
import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer as createHttp, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { TransferEngine } from 'libfabric/transfer';
import { expect, onTestFinished, test } from 'vitest';
import { attach, connect, createServer, FabricAgent } from '../../dist/net/index.js';
import { HOST } from '../support/net-pair.js';
import { serve, TCP } from '../support/object-stores.js';

const storage = new AsyncLocalStorage<object>();

/** Calls in a context of its own. Returns a reference to its store. */
async function first(call: () => Promise<unknown>): Promise<WeakRef<object>> {
  const store = {};
  await storage.run(store, call);
  return new WeakRef(store);
}

/** Collects garbage until the store is gone. Returns whether it is. */
async function isCollected(store: WeakRef<object>): Promise<boolean> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let isGone = false;
  const registry = new FinalizationRegistry(() => {
    isGone = true;
  });
  registry.register(store.deref() as object, undefined);
  for (let rounds = 0; rounds < 300 && !isGone; rounds += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    collect();
  }
  return isGone;
}

const closed = (emitter: { once(event: 'close', call: () => void): unknown }): Promise<void> =>
  new Promise((resolve) => void emitter.once('close', resolve));

test('a session and its endpoint', async () => {
  const options = { provider: 'shm' };
  const server = createServer(options, (socket) => socket.resume()).listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const store = await first(async () => {
    const socket = connect({ host: HOST, port, ...options });
    await once(socket, 'connect');
    const isClosed = closed(socket);
    socket.end();
    await isClosed;
  });
  const later = connect({ host: HOST, port, ...options });
  await once(later, 'connect');
  onTestFinished(() => {
    later.destroy();
    server.close();
  });
  expect(await isCollected(store)).toBe(true);
  expect(later.path).toContain('shm');
});

test('the session of an agent', async () => {
  const http = createHttp((_request, response) => response.end('answer'));
  attach(http, { provider: 'shm' });
  http.listen(0, HOST);
  await once(http, 'listening');
  const agent = new FabricAgent({ provider: 'shm' });
  onTestFinished(() => {
    agent.destroy();
    http.closeAllConnections();
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  const ask = async () => {
    const sent = get({ host: HOST, port, agent });
    const isClosed = closed(sent);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    await isClosed;
  };
  const store = await first(ask);
  await ask();
  expect(await isCollected(store)).toBe(true);
});

test('the peers, pools and timers of a transfer engine', async () => {
  const [a, b] = await Promise.all([TransferEngine.open(TCP), TransferEngine.open(TCP)]);
  onTestFinished(async () => {
    await Promise.all([a.close(), b.close()]);
  });
  const store = await first(async () => {
    const [toB, toA] = await Promise.all([a.peer(b.address), b.peer(a.address)]);
    const memory = await a.allocate(4096);
    const offer = await memory.offer({ access: 'read', to: toB });
    for await (const _ of toA.download(offer.token));
    await toA.notify(Buffer.from('message'));
    await memory.close();
  });
  expect(await isCollected(store)).toBe(true);
});

test('the channel, the pool and the engine of a client of objects', async () => {
  const { connect: open } = await serve(TCP);
  const client = await open();
  const store = await first(async () => {
    await client.put('key', Buffer.alloc(2 ** 20));
    await client.get('key');
  });
  expect(await isCollected(store)).toBe(true);
});
