// A server of libfabric/net and its sockets, until the test ends.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import {
  type ConnectOptions,
  connect,
  createServer,
  type FabricServer,
  type FabricSocket,
  type ServerOptions,
} from '../../dist/net/index.js';

export const HOST = '127.0.0.1';

/** A server that listens, and its port. */
export async function serve(options: ServerOptions): Promise<[FabricServer, number]> {
  const server = createServer(options).listen(0, HOST);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return [server, (server.address() as AddressInfo).port];
}

/** A socket that is connected, and the socket of the server. */
export async function pair(
  options: ServerOptions,
  ofClient: Partial<ConnectOptions> = options as Partial<ConnectOptions>,
): Promise<[FabricSocket, FabricSocket]> {
  const [server, port] = await serve(options);
  const client = connect({ port, host: HOST, ...ofClient });
  const [[peer]] = await Promise.all([once(server, 'connection'), once(client, 'connect')]);
  onTestFinished(() => {
    client.destroy();
    peer.destroy();
  });
  return [client, peer];
}
