// What libfabric/net says of its sessions and sockets.
import '../support/softefa.js';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { dumpState } from 'libfabric';
import { type ConnectTraceMessage, connect, netMetrics } from 'libfabric/net';
import { expect, onTestFinished, test } from 'vitest';
import { pair, serve } from '../support/net-pair.js';
import { FAILS, record, SUCCEEDS } from '../support/traces.js';

/** The warning of the process that `action` causes. */
async function warningOf(action: () => Promise<unknown>): Promise<Error> {
  const warned = once(process, 'warning');
  await action();
  const [warning] = await warned;
  return warning;
}

test.each(['shm', 'efa'])(
  'stats() of a socket over %s says what it waits for',
  async (provider) => {
    const [client, peer] = await pair({ provider });
    expect(client.path).toBe(provider);
    expect(client.stats()).toMatchObject({ mode: 'bytes', waitsFor: null, unsent: 0, unread: 0 });
    peer.pause();
    client.write(Buffer.alloc(3_000_000));
    while (client.stats()?.waitsFor !== 'window') await new Promise(setImmediate);
    expect(client.stats()).toMatchObject({ waitsFor: 'window', window: 0 });
    while (peer.stats()?.waitsFor !== 'reader') await new Promise(setImmediate); // the bytes are on their way
    peer.resume();
    await once(client, 'drain');
  },
);

test('dumpState() and netMetrics() have the sessions and their sockets', async () => {
  const [client] = await pair({ provider: 'shm' });
  const session = dumpState().netSessions.find(
    ({ remotePort }) => remotePort === client.remotePort,
  );
  expect(session).toMatchObject({
    remoteAddress: '127.0.0.1',
    path: 'shm',
    fallback: null,
    nics: [{ nic: 'shm', state: 'up' }],
    socketCount: 1,
    sockets: [{ mode: 'bytes' }],
  });
  const { text } = await netMetrics();
  expect(text).toContain('libfabric_net_sockets{session="');
  expect(text).toMatch(/libfabric_net_nic_up\{session="\d+",nic="shm"\} 1/);
  client.destroy();
});

test('sessions are published when they begin and end', async () => {
  const published: string[] = [];
  const opened = (message: unknown) => published.push(`open ${Object(message).type}`);
  const closed = (message: unknown) => published.push(`close ${Object(message).type}`);
  subscribe('libfabric:open', opened);
  subscribe('libfabric:close', closed);
  onTestFinished(() => {
    unsubscribe('libfabric:open', opened);
    unsubscribe('libfabric:close', closed);
  });
  const [client, peer] = await pair({});
  client.resume();
  peer.resume();
  const ended = once(client, 'close');
  client.end();
  peer.end();
  await ended;
  expect(published.filter((each) => each === 'open netSession').length).toBe(2);
});

test('the session that connect() opens is traced in the async context of the call', async () => {
  const { storage, traces, eventsOf } = record<ConnectTraceMessage>('libfabric:net:connect');
  const [, port] = await serve({ provider: 'shm' });
  const options = { port, host: '127.0.0.1', provider: 'shm' };
  const connects = (name: string, to = options) => {
    const socket = storage.run(name, () => connect(to));
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  const first = connects('first');
  await once(first, 'connect');
  expect(eventsOf('first')).toEqual(SUCCEEDS);
  const about = { port, host: '127.0.0.1', provider: 'shm' };
  expect(traces[0]?.message).toMatchObject({ ...about, result: { path: 'shm', fallback: null } });
  await once(connects('second'), 'connect'); // joins the session
  const [error] = await once(connects('refused', { ...options, port: 1 }), 'error');
  expect(eventsOf('refused')).toEqual(FAILS);
  expect(traces[1]?.message).toEqual({ ...about, port: 1, error });
  expect(traces).toHaveLength(2);
});

test('a server without the fabric is a fallback, with an event and a warning', async () => {
  let fallback: Promise<unknown[]> | undefined;
  const warning = await warningOf(async () => {
    const [, port] = await serve({});
    const client = connect({ port, host: '127.0.0.1', provider: 'shm' });
    onTestFinished(() => void client.destroy());
    fallback = once(client, 'fallback');
    await once(client, 'connect');
    expect(client.path).toBe('control');
  });
  expect(warning).toMatchObject({ name: 'LibfabricWarning', code: 'LIBFABRIC_NET_FALLBACK' });
  expect(await fallback).toMatchObject([{ code: 'EPROTONOSUPPORT' }]);
});

test("require: 'fabric' fails without it", async () => {
  const [, port] = await serve({});
  for (const provider of ['shm', 'no-such-provider']) {
    const client = connect({ port, host: '127.0.0.1', provider, require: 'fabric' });
    const [error] = await once(client, 'error');
    expect(error.code).toBe(provider === 'shm' ? 'EPROTONOSUPPORT' : 'FI_ENODATA');
  }
});

test('a socket that requires the fabric does not join a session without it', async () => {
  const [server, port] = await serve({});
  server.on('connection', (socket) => void socket.resume());
  const options = { port, host: '127.0.0.1', provider: 'shm' };
  const first = connect(options);
  onTestFinished(() => void first.destroy());
  await once(first, 'connect');
  const second = connect({ ...options, require: 'fabric' });
  const [error] = await once(second, 'error');
  expect(error).toMatchObject({ code: 'EPROTONOSUPPORT' });
});
