// A gRPC service that clients reach over TCP at one port, and over the fabric at the next:
// `npm install @grpc/grpc-js && node server.mjs [provider] [port]`.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { upgrade } from 'libfabric/net';
import { definition } from './service.mjs';

const [provider = 'efa', port = '50051'] = process.argv.slice(2);
const credentials = ServerCredentials.createInsecure();

const server = new Server();
server.addService(definition, {
  reverse: ({ request }, done) => done(null, { text: [...request.text].reverse().join('') }),
});
await new Promise((resolve, reject) => {
  server.bindAsync(`0.0.0.0:${port}`, credentials, (error) => (error ? reject(error) : resolve()));
});

const injector = server.createConnectionInjector(credentials);
const listener = createServer(async (connection) => {
  connection.on('error', () => {}); // a client that goes away
  try {
    injector.injectConnection(await upgrade(connection, { provider }));
  } catch {
    connection.destroy();
  }
});
await once(listener.listen(Number(port) + 1), 'listening');
console.log(`listening at port ${port}, and for the fabric at port ${Number(port) + 1}`);
