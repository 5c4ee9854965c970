// Measures node:net over loopback between two processes: half round trip (setNoDelay) and bandwidth.
//   node-net.mjs (pingpong|send) (server|client) --sizes bytes:iterations,...

import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { endExchange, exchange, parseSide, report, timed } from './side.mjs';

const side = parseSide();

async function openSocket() {
  if (side.server) {
    const server = createServer({ noDelay: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const accepted = once(server, 'connection');
    await exchange(String(server.address().port));
    const [socket] = await accepted;
    server.close();
    return socket;
  }
  const socket = connect({ port: Number(await exchange('-')), host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  return socket;
}

const socket = await openSocket();
let received = 0;
let wanted = Infinity;
let arrived = () => {};
socket.on('data', (bytes) => {
  received += bytes.length;
  if (received >= wanted) arrived();
});

/** Resolves when `bytes` further bytes have arrived. Data that arrived earlier counts. */
function receive(bytes) {
  return new Promise((resolve) => {
    wanted = bytes;
    arrived = () => {
      received -= bytes;
      wanted = Infinity;
      resolve();
    };
    if (received >= wanted) arrived();
  });
}

const written = (data) => new Promise((resolve) => socket.write(data, resolve));

const loops = {
  async pingpong(size) {
    const data = Buffer.alloc(size.bytes, 1);
    const turns = size.iterations;
    const ping = () => {
      const pong = receive(size.bytes);
      socket.write(data);
      return pong;
    };
    if (!side.server) return report('pingpong', size, 2 * turns, await timed(turns, ping));
    return timed(turns, async () => {
      await receive(size.bytes);
      socket.write(data);
    });
  },

  // A write waits for the write before the last one, which keeps the socket's buffer full.
  async send(size) {
    const data = Buffer.alloc(size.bytes, 1);
    const acknowledgement = Buffer.alloc(4);
    const windows = Math.ceil(size.iterations / side.window);
    const sendWindow = async () => {
      const acknowledged = receive(4);
      let previous;
      for (let i = 0; i < side.window; i++) {
        const last = written(data);
        await previous;
        previous = last;
      }
      return acknowledged;
    };
    if (!side.server) {
      return report('send', size, windows * side.window, await timed(windows, sendWindow));
    }
    return timed(windows, async () => {
      await receive(size.bytes * side.window);
      socket.write(acknowledgement);
    });
  },
};

for (const size of side.sizes) {
  await exchange('ready');
  await loops[side.positionals[0]](size);
}
await endExchange();
socket.destroy();
