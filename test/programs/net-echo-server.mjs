// A server of libfabric/net that sends back what it gets: argv: options. Reports its port.
import { createServer } from '../../dist/net/index.js';

const server = createServer(JSON.parse(process.argv[2]), (socket) => {
  socket.on('error', () => {});
  socket.pipe(socket);
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('disconnect', () => process.exit());
