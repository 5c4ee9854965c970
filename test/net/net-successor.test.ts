// Sockets of a client whose server closes, or is gone, while another server listens at the same port.
import { once } from 'node:events';
import * as http from 'node:http';
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer } from 'node:net';
import { dumpState } from 'libfabric';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  attach,
  connect,
  createServer,
  FabricAgent,
  type NetSessionState,
} from '../../dist/net/index.js';
import { HOST } from '../support/net-pair.js';

const options = { provider: 'shm' };

function serverOf(name: string) {
  const server = createServer(options, (socket) => socket.on('error', () => {}).write(name));
  server.on('messages', (link) => link.send(name));
  onTestFinished(() => void server.close());
  return server;
}

async function listen(
  server: { listen(port: number, host: string): unknown } & NodeJS.EventEmitter,
  port = 0,
) {
  server.listen(port, HOST);
  await once(server, 'listening');
}

describe('a server closes while a socket stays', () => {
  test('further sockets and messages reach its successor', async () => {
    const [old, successor] = [serverOf('old'), serverOf('successor')];
    await listen(old);
    const { port } = old.address() as AddressInfo;
    const stays = connect({ host: HOST, port, ...options });
    expect(String((await once(stays, 'data'))[0])).toBe('old');
    old.close();
    await listen(successor, port);
    for (let i = 0; i < 2; i++) {
      const next = connect({ host: HOST, port, ...options });
      expect(String((await once(next, 'data'))[0])).toBe('successor');
      next.destroy();
    }
    const link = connect({ host: HOST, port, mode: 'messages', ...options });
    expect(Buffer.from((await link.receive()) as Uint8Array).toString()).toBe('successor');
    link.destroy();
    stays.destroy();
  });

  test('without a successor, further sockets get ECONNREFUSED', async () => {
    const old = serverOf('old');
    await listen(old);
    const { port } = old.address() as AddressInfo;
    const stays = connect({ host: HOST, port, ...options });
    await once(stays, 'data');
    old.close();
    const next = connect({ host: HOST, port, ...options });
    expect((await once(next, 'error'))[0].code).toBe('ECONNREFUSED');
    stays.destroy();
  });

  test('further requests of a FabricAgent reach its successor', async () => {
    const agent = new FabricAgent({ keepAlive: true, ...options });
    onTestFinished(() => agent.destroy());
    const make = (name: string) => {
      const server = http.createServer((request, response) => {
        if (request.url === '/stays') response.write(name);
        else response.end(name);
      });
      attach(server, options);
      onTestFinished(() => {
        server.close();
        server.closeAllConnections();
      });
      return server;
    };
    const [old, successor] = [make('old'), make('successor')];
    await listen(old);
    const { port } = old.address() as AddressInfo;
    const get = async (path: string) => {
      const [response] = await once(http.get({ agent, host: HOST, port, path }), 'response');
      const [bytes] = await once(response, 'data');
      return [String(bytes), response];
    };
    const [first, stays] = await get('/stays');
    expect(first).toBe('old');
    old.close();
    await listen(successor, port);
    expect((await get('/'))[0]).toBe('successor');
    stays.destroy();
  });
});

test('while a peer is asked whether it is alive, new sockets connect again', async () => {
  const server = serverOf('server');
  await listen(server);
  const through: { destroy(): void }[] = [];
  const proxy = createTcpServer((near) => {
    const far = connectTcp((server.address() as AddressInfo).port, HOST);
    near.pipe(far).pipe(near);
    for (const each of [near, far]) through.push(each.on('error', () => {}));
  });
  onTestFinished(() => void proxy.close());
  await listen(proxy);
  const { port } = proxy.address() as AddressInfo;
  const first = connect({ host: HOST, port, ...options });
  await once(first, 'data');
  for (const each of through) each.destroy();
  const isOpen = ({ remotePort, control }: NetSessionState) =>
    remotePort === port && control === 'open';
  while (dumpState().netSessions.some(isOpen)) await new Promise(setImmediate);
  const second = connect({ host: HOST, port, ...options });
  await once(second, 'data');
  first.destroy();
  second.destroy();
  expect(through).toHaveLength(4); // two for each connection
  for (const each of through) each.destroy();
});
