// Processes that connect to a server of the command line and are not its client.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** The bytes that such processes send. */
export const GARBAGE: Readonly<Record<string, Buffer>> = {
  nothing: Buffer.alloc(0),
  'a byte': Buffer.from('a'),
  'a request of HTTP': Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'),
  'a hello of TLS': Buffer.from('1603010200010001fc0303', 'hex'),
  'a handshake of fabtests': Buffer.alloc(4),
  zeros: Buffer.alloc(100_000),
  'the end of an address of IPv4': Buffer.from([2, 0, 0]),
  'an address and garbage': Buffer.concat([
    Buffer.from([2, 0, 0x12, 0x34]),
    Buffer.alloc(20, 0xff),
  ]),
  'a frame that never ends': Buffer.from('\0\0\0\x20{"note":'),
  'a frame of another program': Buffer.from('\0\0\0\x02[]'),
  'a frame of 2 GiB': Buffer.from('\x7f\xff\xff\xff{'),
};

/** Connects and sends bytes. The connection ends with the test. */
export async function stranger(port: number, bytes: Uint8Array = Buffer.alloc(0)): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.resume().write(bytes);
  return socket;
}

/** Resolves when a connection is closed. */
export const closed = (socket: Socket): Promise<unknown> =>
  socket.closed ? Promise.resolve() : new Promise((resolve) => socket.once('close', resolve));

/** This many connections at once, which send nothing. */
export const crowd = (port: number, size = 300): Promise<Socket[]> =>
  Promise.all(Array.from({ length: size }, () => stranger(port)));

/** One such process of each kind, one that has disconnected again, and a crowd. */
export async function strangers(port: number): Promise<void> {
  for (const bytes of Object.values(GARBAGE)) await stranger(port, bytes);
  (await stranger(port)).destroy();
  (await stranger(port, Buffer.from('x'))).resetAndDestroy();
  await crowd(port);
}
