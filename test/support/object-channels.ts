// Channels of object servers, as a program opens them that is no ObjectClient.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { encodeMessage } from '../../dist/objects/channel.js';

const UPGRADE =
  'OPTIONS / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: libfabric-objects\r\n\r\n';

/** Asks for a channel. The status is 101 if the connection is one now. It ends with the test. */
export async function upgrade(port: number): Promise<{ socket: Socket; status: number }> {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  onTestFinished(() => void socket.destroy());
  socket.write(UPGRADE);
  const answer = await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  return { socket, status: Number(String(answer[0]).slice(9, 12)) };
}

/** Sends a GET over a channel. */
export function ask(socket: Socket, id: number, path: string, fields = {}): void {
  const message = encodeMessage(id, ['GET', path, fields]);
  message.writeUInt32LE(message.length - 4);
  socket.write(message);
}
