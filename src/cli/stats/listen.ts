import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { MOST_CONNECTIONS, UnidentifiedConnections } from '../shared/unidentified-connections.js';
import type { Source } from './sources.js';

export interface Address {
  readonly host: string;
  readonly port: number;
}

const MOST_IDLE = 64; // connections without a request; beyond that, the oldest is closed
const REQUEST_TIMEOUT = 10_000; // milliseconds to send a request, and to take the answer

/** Serves Prometheus metrics at /metrics until the signal aborts. */
export async function listen(
  { host, port }: Address,
  all: readonly Source[],
  signal: AbortSignal,
): Promise<void> {
  // Imported here, because its library would slow down every other command.
  const { metricsText } = await import('./prometheus.js');
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const known = /^\/metrics(\?|$)/.test(request.url ?? '');
    const reads = request.method === 'GET' || request.method === 'HEAD';
    if (!known || !reads) {
      response.writeHead(known ? 405 : 404, { 'content-type': 'text/plain' });
      response.end('See GET /metrics.\n');
      return;
    }
    const { type, text } = await metricsText(all);
    response.writeHead(200, { 'content-type': type });
    response.end(text);
  };
  const server = createServer((request, response) => {
    response.once('finish', () => idle.add(request.socket)); // until its next request
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  const idle = new UnidentifiedConnections({ most: MOST_IDLE, lifetime: REQUEST_TIMEOUT });
  server.on('connection', (socket: Socket) => idle.add(socket));
  server.maxConnections = MOST_CONNECTIONS;
  server.listen(port, host);
  await once(server, 'listening');
  const { address, family, port: bound } = server.address() as AddressInfo;
  const name = family === 'IPv6' ? `[${address}]` : address;
  console.log(`http://${name}:${bound}/metrics`);
  if (!signal.aborted) await once(signal, 'abort');
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
