import { once } from 'node:events';
import { connect } from '../../net/index.js';
import type { Flags } from './net.js';
import { ECHO, fabricOf } from './options.js';

/** Sends the input, and prints what comes back. */
export async function echo(host: string, flags: Flags): Promise<void> {
  const socket = connect({
    host,
    port: flags.exchange,
    allowHalfOpen: true,
    ...fabricOf(flags),
  });
  socket.write(ECHO);
  process.stdin.pipe(socket);
  socket.pipe(process.stdout, { end: false });
  await once(socket, 'end'); // an error of the socket rejects
  socket.destroy();
}
