// Sockets of libfabric/net for libraries that tests run over them.
import { once } from 'node:events';
import type * as http from 'node:http';
import * as tcp from 'node:net';
import { onTestFinished } from 'vitest';
import {
  connect,
  createServer,
  type FabricOptions,
  type FabricSocket,
  type ServerOptions,
} from '../../dist/net/index.js';

/** The fabrics that carry the sockets. Without its fabric, a connection fails. */
export const fabrics: [string, FabricOptions][] = [
  ['shm', { provider: 'shm', require: 'fabric' }],
  ['efa', { provider: 'efa', require: 'fabric' }],
];

const HOST = '127.0.0.1';

/** Serves sockets until the test ends. `open` connects to the server. */
export async function serve(options: ServerOptions, listener: (socket: FabricSocket) => void) {
  const sockets = new Set<FabricSocket>();
  const server = createServer(options, (socket) => {
    sockets.add(socket);
    listener(socket);
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  const { port } = server.address() as tcp.AddressInfo;
  const { tls: _tls, ...ofClient } = options;
  return { port, open: () => connect({ ...ofClient, port, host: HOST }) };
}

/** Serves sockets whose bytes travel to and from a server at a path. */
export function relay(options: FabricOptions, path: string) {
  return serve(options, (socket) => {
    const raw = tcp.connect(path);
    socket.pipe(raw).pipe(socket);
    socket.on('close', () => raw.destroy()).on('error', () => {});
    raw.on('error', () => socket.destroy());
  });
}

/** Listens until the test ends. Returns the port. */
export async function listen(server: http.Server): Promise<number> {
  server.listen(0, HOST);
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as tcp.AddressInfo).port;
}

/** Libraries declare that they take a socket of node:net. */
export const asTcp = (socket: FabricSocket) => socket as unknown as tcp.Socket;
