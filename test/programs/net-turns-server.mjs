// A server in a thread of its own, whose sockets get several events at once. Arguments: provider or node:net, what it does.
import { createServer as createTcp } from 'node:net';
import { setTimeout as after } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { createServer as createFabric } from '../../dist/net/index.js';

const [provider, how] = workerData;
const options = provider === 'tcp' ? { provider, node: '127.0.0.1' } : { provider };
const waiting = [];

const ACTS = {
  /** Two sockets get bytes in the same turn. */
  async pairs(socket) {
    waiting.push(socket);
    if (waiting.length < 2) return;
    await after(20);
    for (const each of waiting.splice(0)) each.write('x');
  },
  dataEnd: (socket) => void socket.end('x'),
  dataReset: (socket) => void socket.write('x', () => socket.resetAndDestroy()),
  reset: (socket) => void socket.resetAndDestroy(),
};

const listener = (socket) => {
  socket.on('error', () => {});
  ACTS[how](socket);
};
const server = provider === 'node:net' ? createTcp(listener) : createFabric(options, listener);
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
