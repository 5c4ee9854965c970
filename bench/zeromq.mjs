// Measures PAIR sockets of zeromq (npm, version 6) between two processes over tcp loopback or ipc: half
// round trip, message rate and bandwidth.
//   zeromq.mjs (pingpong|send) (tcp|ipc) (server|client) --sizes bytes:iterations,...
import { Pair } from 'zeromq';
import { endExchange, exchange, parseSide, report, timed } from './side.mjs';

const side = parseSide();
const [loop, transport] = side.positionals;
const socket = new Pair();

if (side.server) {
  await socket.bind(transport === 'tcp' ? 'tcp://127.0.0.1:*' : 'ipc://*');
  await exchange(socket.lastEndpoint);
} else {
  socket.connect(await exchange('-'));
}

const loops = {
  async pingpong(size) {
    const data = Buffer.alloc(size.bytes, 1);
    const turns = size.iterations;
    if (side.server) {
      return timed(turns, async () => {
        await socket.receive();
        await socket.send(data);
      });
    }
    const ping = async () => {
      await socket.send(data);
      await socket.receive();
    };
    return report('pingpong', size, 2 * turns, await timed(turns, ping));
  },

  async send(size) {
    const data = Buffer.alloc(size.bytes, 1);
    const acknowledgement = Buffer.alloc(4);
    const windows = Math.ceil(size.iterations / side.window);
    if (side.server) {
      return timed(windows, async () => {
        for (let i = 0; i < side.window; i++) await socket.receive();
        await socket.send(acknowledgement);
      });
    }
    const sendWindow = async () => {
      for (let i = 0; i < side.window; i++) await socket.send(data);
      await socket.receive();
    };
    return report('send', size, windows * side.window, await timed(windows, sendWindow));
  },
};

for (const size of side.sizes) {
  await exchange('ready');
  await loops[loop](size);
}
await endExchange();
socket.close();
