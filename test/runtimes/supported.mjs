// What must work in each supported runtime.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer, get } from 'node:http';
import { open } from '../../dist/index.js';
import { attach, connect, createServer, FabricAgent } from '../../dist/net/index.js';
import { TransferEngine } from '../../dist/transfer/index.js';
import { expectCode, run } from './steps.mjs';

const HOST = '127.0.0.1';
const UNAVAILABLE = 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM';
const isBun = process.versions.bun !== undefined;
const providers = { shm: { provider: 'shm' }, tcp: { provider: 'tcp', node: HOST } };

async function endpoint(given) {
  const options = { ...given, busyPoll: 5 };
  const ep = await open({ ...options, caps: ['FI_MSG'] });
  const self = ep.av.insert(ep.address);
  const got = new Uint8Array(new SharedArrayBuffer(4));
  const received = ep.recv(got);
  const turning =
    options.driver === 'manual' ? setInterval(() => ep.domain.progress(), 1) : undefined;
  await ep.inject(Uint8Array.of(1, 2, 3, 4), self);
  await received;
  clearInterval(turning);
  await ep.close();
  assert.deepEqual([...got], [1, 2, 3, 4]);
}

async function transfer(options) {
  const [a, b] = [await TransferEngine.open(options), await TransferEngine.open(options)];
  const [toB, toA] = [await a.peer(b.address), await b.peer(a.address)];
  const [from, into] = [await a.allocate(2 ** 20), await b.allocate(2 ** 20)];
  from.bytes.fill(7);
  const offer = await into.offer({ access: 'write', to: toA });
  await toB.write(from, offer.token);
  await offer.arrived;
  assert.ok(into.bytes.every((byte) => byte === 7));
  const shared = new Uint8Array(new SharedArrayBuffer(4096));
  assert.equal((await a.register(shared)).length, 4096);
  await a.close();
  await b.close();
}

async function sockets(options) {
  const server = createServer(options, (socket) => socket.pipe(socket)).listen(0, HOST);
  await once(server, 'listening');
  const socket = connect({ ...options, port: server.address().port, host: HOST });
  socket.end('hello');
  let text = '';
  for await (const chunk of socket) text += chunk;
  server.close();
  assert.equal(text, 'hello');
  assert.match(socket.path, new RegExp(options.provider));
}

async function messages(options) {
  const server = createServer(options);
  server.on('messages', async (peer) => {
    await peer.send((await peer.receive()) ?? '');
    peer.end();
  });
  await once(server.listen(0, HOST), 'listening');
  const { port } = server.address();
  const socket = connect({ ...options, port, host: HOST, mode: 'messages' });
  await socket.send('message');
  assert.equal(Buffer.from(await socket.receive()).toString(), 'message');
  socket.destroy();
  server.close();
}

async function http(options) {
  const server = createHttpServer((_request, response) => response.end('answer'));
  attach(server, options);
  await once(server.listen(0, HOST), 'listening');
  const agent = new FabricAgent(options);
  const { port } = server.address();
  const [response] = await once(get({ agent, host: HOST, port }), 'response');
  let text = '';
  for await (const chunk of response) text += chunk;
  agent.destroy();
  server.close();
  assert.equal(text, 'answer');
}

async function refusals() {
  await expectCode(UNAVAILABLE, () => open({ provider: 'shm', driver: 'loop' }));
  const engine = await TransferEngine.open({ provider: 'shm' });
  await expectCode(UNAVAILABLE, () => engine.register(new Uint8Array(4096)));
  await engine.close();
}

const steps = {};
for (const [name, options] of Object.entries(providers)) {
  for (const driver of isBun ? ['thread', 'manual'] : ['thread', 'manual', 'loop'])
    steps[`an endpoint of ${name}, ${driver}`] = () => endpoint({ ...options, driver });
  steps[`a transfer over ${name}`] = () => transfer(options);
  steps[`a socket over ${name}`] = () => sockets(options);
  steps[`messages over ${name}`] = () => messages(options);
  steps[`HTTP over ${name}`] = () => http(options);
}
if (isBun) steps['what Bun cannot do is refused'] = refusals;
await run(steps);
