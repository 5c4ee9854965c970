// A client of libfabric/net: connects to a port, writes, and ends as its arguments say.
import { once } from 'node:events';
import { connect } from '../../dist/net/index.js';

const [options, port, how] = process.argv.slice(2);
const socket = connect({ ...JSON.parse(options), host: '127.0.0.1', port: Number(port) });
await once(socket, 'connect');
if (how === 'stays') {
  socket.write('here');
  socket.resume();
} else if (how === 'exits') {
  socket.end(Buffer.alloc(3_000_000, 'last'));
  socket.resume();
} else {
  socket.unref();
  socket.write('unref');
}
