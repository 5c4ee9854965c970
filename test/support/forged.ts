// Addresses of engines that are not what they say, and something that they name.
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { dumpState } from '../../dist/index.js';
import { decodeAddress, type EngineAddress, encodeAddress } from '../../dist/transfer/address.js';

/** The address of an engine with some of its members changed. It is not sealed. */
export const forged = (address: string, change: Partial<EngineAddress>): string =>
  encodeAddress({ ...decodeAddress(address, ''), ...change }, '');

/** A struct sockaddr_in. */
export function railAt(host: string, port: number): Uint8Array {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt16LE(2);
  bytes.writeUInt16BE(port, 2);
  for (const [i, part] of host.split('.').entries()) bytes[4 + i] = Number(part);
  return new Uint8Array(bytes);
}

/** A listener that nobody has asked to be connected to. It ends each connection. */
export async function bystander(host = '127.0.0.2') {
  const connections: Socket[] = [];
  const server = createServer((socket) => {
    connections.push(socket);
    socket.on('error', () => {}).destroy();
  });
  await once(server.listen(0, host), 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  return { connections, port, rail: railAt(host, port) };
}

/** The peers that an engine has. */
export const peersOf = ({ id }: { readonly id: string }) =>
  dumpState().transferEngines.find((each) => each.id === id)?.peers ?? [];
