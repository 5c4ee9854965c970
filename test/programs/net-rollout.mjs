// A worker: a server or a client of libfabric/net. LIBFABRIC_ADDON_DIR decides whether it has libfabric.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { attach, connect, createServer, FabricAgent, upgrade } from '../../dist/net/index.js';

const { role, ports, options } = workerData;
const warnings = [];
process.on('warning', ({ code }) => warnings.push(code));

const hashOf = (bytes) => createHash('md5').update(bytes).digest('hex');
const allOf = async (stream) => Buffer.concat(await stream.toArray());

/** A server of each kind, which returns what it gets. Resolves to their ports. */
async function serve() {
  const sockets = createServer({ allowHalfOpen: true, ...options }, (socket) =>
    socket.pipe(socket),
  );
  sockets.on('messages', async (link) => {
    for await (const message of link) await link.send(message);
    link.end();
  });
  const upgraded = net.createServer(async (connection) => {
    const socket = await upgrade(connection, { allowHalfOpen: true, ...options });
    socket.pipe(socket);
  });
  const web = http.createServer(async (request, response) => {
    response.end(`${request.socket.constructor.name} ${hashOf(await allOf(request))}`);
  });
  attach(web, options);
  const found = {};
  for (const [name, server] of Object.entries({ sockets, upgraded, web })) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    found[name] = server.address().port;
  }
  return found;
}

const host = '127.0.0.1';

async function echo(socket, bytes) {
  socket.end(bytes);
  const echoed = hashOf(await allOf(socket)) === hashOf(bytes);
  if (!socket.closed) await once(socket, 'close');
  return echoed;
}

async function client() {
  const found = {};
  const sizes = [0, 1, 3_000_000, 100_000];
  const sockets = sizes.map(() => connect({ host, port: ports.sockets, ...options }));
  const fallback = new Promise((resolve) =>
    sockets[0].once('fallback', ({ code }) => resolve(code)),
  );
  const paths = Promise.all(
    sockets.map((socket) => once(socket, 'connect').then(() => [socket.path, socket.remotePort])),
  );
  found.echoed = await Promise.all(
    sockets.map((socket, i) => echo(socket, Buffer.alloc(sizes[i], 'e'))),
  );
  found.paths = (await paths).map(([path, port]) => (port === ports.sockets ? path : 'wrong port'));
  if (found.paths[0] === 'control') found.fallback = await fallback;

  const link = connect({ host, port: ports.sockets, mode: 'messages', ...options });
  const messages = ['a', '', 'x'.repeat(100_000)];
  for (const message of messages) await link.send(message);
  link.end();
  const lengths = [];
  for await (const message of link) lengths.push(message.length);
  found.messages = lengths;
  link.destroy();

  const connection = net.connect(ports.upgraded, host);
  const socket = await upgrade(connection, { allowHalfOpen: true, ...options });
  found.upgraded = await echo(socket, Buffer.alloc(200_000, 'u'));

  const agent = new FabricAgent({ keepAlive: true, ...options });
  const ask = async () => {
    const request = http.request({ agent, host, port: ports.web, method: 'POST' });
    request.end('body');
    const [response] = await once(request, 'response');
    return String(await allOf(response));
  };
  const [kind, hash] = (await ask()).split(' ');
  found.web = [kind, hash === hashOf('body'), (await ask()).split(' ')[0]];
  agent.destroy();

  const refused = connect({ host, port: ports.sockets, ...options, require: 'fabric' });
  found.required = await once(refused, 'connect').then(
    () => 'connected',
    ({ code }) => code,
  );
  refused.destroy();
  return { ...found, warnings };
}

const codeOf = ([error]) => error.code;

/** The errors where the fabric is required, and missing. */
async function required() {
  const found = {};
  const web = http.createServer();
  try {
    attach(web, options);
  } catch (error) {
    found.attach = error.code;
  }
  const server = createServer(options).listen(0, host);
  found.createServer = codeOf(await once(server, 'error'));
  const { port } = server.address();
  found.connect = codeOf(await once(connect({ host, port, ...options }), 'error'));
  const agent = new FabricAgent(options);
  found.agent = codeOf(await once(http.get({ agent, host, port }), 'error'));
  server.close();
  return found;
}

parentPort.postMessage(await { server: serve, client, required }[role]());
if (role === 'server') {
  await once(parentPort, 'message');
  parentPort.postMessage(warnings);
}
