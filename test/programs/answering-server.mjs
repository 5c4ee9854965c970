// A thread that answers although the event loop of its parent is blocked: messages, HTTP, and sockets of libfabric/net.
import { createServer as createHttp } from 'node:http';
import { parentPort } from 'node:worker_threads';
import { createServer } from '../../dist/net/index.js';

const DELAY = 30; // ms
const HOST = '127.0.0.1';
const HEADERS = { etag: '"1"', 'last-modified': new Date(0).toUTCString() };

parentPort.on('message', (message) => setTimeout(() => parentPort.postMessage(message), DELAY));

const http = createHttp((_request, response) => {
  setTimeout(() => response.writeHead(200, HEADERS).end('"answer"'), DELAY);
});
const sockets = createServer((socket) => {
  socket.on('error', () => {});
  socket.on('data', (bytes) => setTimeout(() => socket.write(bytes), DELAY));
});
http.listen(0, HOST, () => {
  sockets.listen(0, HOST, () =>
    parentPort.postMessage({ http: http.address().port, sockets: sockets.address().port }),
  );
});
