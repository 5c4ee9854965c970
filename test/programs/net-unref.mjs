// A process that only has sockets and servers of libfabric/net that keep nothing alive. Arguments: library ('net' for node:net),
// options, how. With 'ref', one of them does, and the process says so. With 'half-open', a peer has ended, and nobody ends its
// socket.
import { once } from 'node:events';

const [library, options, how] = process.argv.slice(2);
const { connect, createServer } = await import(
  library === 'net' ? 'node:net' : '../../dist/net/index.js'
);
const allowHalfOpen = how === 'half-open';
const server = createServer({ ...JSON.parse(options), allowHalfOpen }).listen(0, '127.0.0.1');
await once(server, 'listening');
const accepted = once(server, 'connection');
const client = connect({ ...JSON.parse(options), port: server.address().port, host: '127.0.0.1' });
const [[peer]] = await Promise.all([accepted, once(client, 'connect')]);
server.unref();
if (how === 'half-open') {
  peer.resume();
  client.destroy();
} else {
  client.setTimeout(100_000);
  client.unref().unref().ref().ref().unref();
  peer.pause().unref();
}
if (how === 'ref') {
  client.ref();
  setTimeout(() => {
    console.log('alive');
    process.exit();
  }, 50).unref();
}
process.on('exit', () => console.log('ends'));
