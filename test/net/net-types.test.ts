// Programs in TypeScript: listeners need no types of their own. The compiler checks this file.
import { createSecureServer } from 'node:http2';
import type { Duplex } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import {
  attach,
  createServer,
  FabricAgent,
  FabricSocket,
  MessageSocket,
} from '../../dist/net/index.js';

test('the arguments of events have types', async () => {
  const socket = new FabricSocket();
  const closed = new Promise<boolean>((resolve) => {
    socket.on('close', (hadError) => resolve(hadError));
  });
  socket.on('data', (bytes) => bytes.readUInt8(0));
  socket.on('fallback', (reason) => reason.message);
  socket.once('lookup', (error, address) => error ?? address.length);
  const stream: Duplex = socket.setNoDelay(true).setKeepAlive(true, 1000);
  stream.destroy();
  expect(await closed).toBe(false);
  const messages = new MessageSocket();
  messages.on('nicLost', (error) => error.message).on('close', (error) => error?.message);
  messages.destroy();
  const server = createServer().on('messages', (peer) => void peer.send('hello'));
  server.on('connection', (peer) => void peer.end());
  expect(server.listenerCount('messages')).toBe(1);
});

test('a FabricAgent takes the options of TLS', () => {
  const agent = new FabricAgent({ provider: 'shm', ca: 'x', rejectUnauthorized: true });
  const target = { host: '127.0.0.1', port: 9, ca: 'x' };
  agent
    .createConnection(target)
    .on('error', () => {})
    .destroy();
  expect(agent).toMatchObject({ options: { ca: 'x' } });
  agent.destroy();
});

test('attach() takes a secure server of node:http2 that allows HTTP/1', () => {
  const server = createSecureServer({ allowHTTP1: true });
  const attachment = attach(server, { provider: 'shm' });
  onTestFinished(() => attachment.close());
  expect(server.listenerCount('connection')).toBeGreaterThan(0);
});
