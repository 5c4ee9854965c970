// What sockets of libfabric/net cost a process that has both sides of them (--expose-gc). Arguments: options, what. Prints JSON.
import { once } from 'node:events';
import { loadOnce } from '../../dist/contract/native.js';
import { connect, createServer } from '../../dist/net/index.js';

const [options, what] = process.argv.slice(2);
const addon = loadOnce();
const { netSession } = addon;
const sessions = [];
addon.netSession = (agreement) => {
  sessions.push(netSession(agreement));
  return sessions.at(-1);
};

const server = createServer(JSON.parse(options)).listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address();

const turn = () => new Promise(setImmediate);

async function pair() {
  const accepted = once(server, 'connection');
  const client = connect({ ...JSON.parse(options), port, host: '127.0.0.1' });
  const [[peer]] = await Promise.all([accepted, once(client, 'connect')]);
  for (const socket of [client, peer]) {
    socket.on('data', () => {}).on('error', (error) => console.error(error));
  }
  return [client, peer];
}

async function openAndClose(count) {
  for (let i = 0; i < count; i++) {
    const sockets = await pair();
    const closed = sockets.map((socket) => once(socket, 'close'));
    for (const socket of sockets) socket.end('bytes');
    await Promise.all(closed);
  }
}

/** Bytes of the process and of the heap, without garbage. */
async function memory() {
  for (let i = 0; i < 5; i++) {
    await turn();
    gc();
  }
  const { rss, heapUsed } = process.memoryUsage();
  return { rss, heapUsed };
}

const difference = (from, to) => ({
  rss: to.rss - from.rss,
  heapUsed: to.heapUsed - from.heapUsed,
});

if (what === 'in turn') {
  await openAndClose(1000);
  const before = await memory();
  await openAndClose(10_000);
  const growth = difference(before, await memory());
  // What a side has not acknowledged yet is no leak.
  while (sessions.some((each) => addon.netCounts(each).streams > 0)) await turn();
  const open = await new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
  console.log(JSON.stringify({ sessions: sessions.length, open, ...growth }));
} else {
  const count = 2000;
  const held = [];
  await openAndClose(200);
  for (let i = 0; i < 50; i++) held.push(await pair());
  const before = await memory();
  for (let i = 0; i < count; i++) held.push(await pair());
  const growth = difference(before, await memory());
  const perSide = (bytes) => Math.round(bytes / count / 2);
  console.log(JSON.stringify({ rss: perSide(growth.rss), heapUsed: perSide(growth.heapUsed) }));
}
process.exit();
