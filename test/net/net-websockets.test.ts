// WebSockets of ws and socket.io run unmodified over the sockets of libfabric/net.
import '../support/softefa.js';
import { once } from 'node:events';
import * as http from 'node:http';
import * as https from 'node:https';
import { Server } from 'socket.io';
import { io } from 'socket.io-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { attach, FabricAgent, type FabricOptions } from '../../dist/net/index.js';
import { pattern } from '../support/bytes.js';
import { TEST_CERT, TEST_KEY } from '../support/certificate.js';
import { HANG_MS } from '../support/limits.js';
import { asTcp, fabrics, listen, serve } from '../support/net-sockets.js';

const MIB = 2 ** 20;

const bytesOf = (size: number) => Buffer.from(pattern(size));

function agentOf(options: FabricOptions): FabricAgent {
  const agent = new FabricAgent({ keepAlive: true, ...options });
  onTestFinished(() => agent.destroy());
  return agent;
}

/** Sends every message back. The first one names the socket of the server. */
function echoes(server: http.Server): WebSocketServer {
  const sockets = new WebSocketServer({ server, maxPayload: 4 * MIB });
  sockets.on('connection', (socket, request) => {
    socket.send(request.socket.constructor.name);
    socket.on('message', (bytes, isBinary) => socket.send(bytes, { binary: isBinary }));
  });
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate();
    sockets.close();
  });
  return sockets;
}

/** Sends messages at once, and checks that they come back in order. Returns the name of the server's socket. */
async function exchange(client: WebSocket, messages: Buffer[]): Promise<string> {
  const got: Buffer[] = [];
  const all = new Promise<void>((resolve, reject) => {
    client.on('error', reject).on('message', (bytes: Buffer) => {
      if (got.push(bytes) > messages.length) resolve();
    });
  });
  await once(client, 'open');
  for (const message of messages) client.send(message);
  await all;
  const [name = Buffer.alloc(0), ...rest] = got;
  expect(rest.map((bytes, i) => bytes.equals(messages[i]!))).toEqual(messages.map(() => true));
  const closed = once(client, 'close');
  client.close(1000, 'done');
  expect(await closed).toEqual([1000, Buffer.from('done')]);
  return name.toString();
}

describe.each(fabrics)('over %s', (_name, options) => {
  test('ws at a server with attach(): messages of 1 MiB in both directions', async () => {
    const server = http.createServer();
    echoes(server);
    attach(server, options);
    const port = await listen(server);
    const messages = [0, 1, 200, MIB, MIB, 3, MIB].map(bytesOf);
    const connect = (agent?: http.Agent) =>
      new WebSocket(`ws://127.0.0.1:${port}/`, { ...(agent && { agent }) });
    expect(await exchange(connect(agentOf(options)), messages)).toBe('FabricSocket');
    expect(await exchange(connect(), messages)).toBe('Socket');
  });

  test('ws with createConnection: many small messages, compressed', async () => {
    const server = http.createServer();
    echoes(server);
    const { open } = await serve(options, (socket) => server.emit('connection', socket));
    const client = new WebSocket('ws://service/', {
      createConnection: () => asTcp(open()),
      perMessageDeflate: { threshold: 0 },
    });
    const messages = Array.from({ length: 1000 }, (_, i) => Buffer.from(`message ${i}`));
    expect(await exchange(client, messages)).toBe('FabricSocket');
  });

  test.each(['websocket', 'polling'] as const)(
    'socket.io by %s: events, acknowledgements and 1 MiB in both directions',
    async (transport) => {
      const server = http.createServer();
      const service = new Server(server, { maxHttpBufferSize: 4 * MIB });
      onTestFinished(() => void service.close());
      service.on('connection', (socket) => {
        socket.emit('seen', socket.handshake.address, socket.request.socket.constructor.name);
        socket.on('echo', (bytes: Buffer, answer) => {
          socket.emit('again', bytes);
          answer(bytes);
        });
      });
      attach(server, options);
      const port = await listen(server);
      const client = io(`http://127.0.0.1:${port}`, {
        transports: [transport],
        agent: agentOf(options) as never, // declared for browsers, where there is none
      });
      onTestFinished(() => void client.close());
      const bytes = bytesOf(MIB);
      expect(await once(client as never, 'seen')).toEqual(['127.0.0.1', 'FabricSocket']);
      const again = once(client as never, 'again');
      const answer: Buffer = await client.timeout(HANG_MS).emitWithAck('echo', bytes);
      const [emitted]: Buffer[] = await again;
      expect([answer.equals(bytes), emitted?.equals(bytes)]).toEqual([true, true]);
    },
  );
});

test('ws over TLS: the agent trusts the certificate of the server', async () => {
  const [, options] = fabrics[0]!;
  const server = https.createServer({ key: TEST_KEY, cert: TEST_CERT });
  echoes(server);
  attach(server, options);
  const port = await listen(server);
  const client = new WebSocket(`wss://localhost:${port}/`, {
    agent: agentOf(options),
    ca: TEST_CERT,
  });
  expect(await exchange(client, [bytesOf(MIB)])).toBe('FabricSocket');
});
