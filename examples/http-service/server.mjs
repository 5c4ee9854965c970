// An HTTP service that clients reach over the fabric too: `node server.mjs [provider] [port]`. Without attach() it is the
// service of before.
import { createServer } from 'node:http';
import { attach } from 'libfabric/net';

const [provider = 'efa', port = '8080'] = process.argv.slice(2);

const server = createServer((request, response) => {
  if (request.method === 'POST') {
    response.setHeader('content-type', request.headers['content-type'] ?? '');
    request.pipe(response);
  } else {
    response.end(`hello ${request.socket.remoteAddress}, you asked for ${request.url}\n`);
  }
});
attach(server, { provider });
server.listen(Number(port), () => {
  console.log(`listening at port ${Object(server.address()).port}`);
});
