import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { attach, createServer, type MessageSocket } from '../../net/index.js';
import type { Flags } from './net.js';
import { ECHO, fabricOf } from './options.js';

const MAX_BODY = 2 ** 24;

/** Serves until the process is interrupted. */
export async function serve(flags: Flags): Promise<void> {
  const server = flags.http ? httpServer(flags) : socketServer(flags);
  server.listen({ port: flags.exchange, host: flags.source });
  try {
    await once(server, 'listening');
  } catch (error) {
    server.close();
    throw error;
  }
  const { port } = server.address() as AddressInfo;
  if (flags.json) console.log(JSON.stringify({ listening: port }));
  else console.log(`listening at port ${port}, for packets over ${flags.provider ?? 'TCP'}`);
}

function socketServer(flags: Flags) {
  const server = createServer(fabricOf(flags), (socket) => serveBytes(socket));
  server.on('messages', (socket) => serveMessages(socket).catch(() => socket.destroy()));
  return server;
}

/** The first byte says whether the others come back, or are only counted. */
function serveBytes(socket: Duplex): void {
  socket.on('error', () => {}); // the client has gone
  socket.once('data', (first: Buffer) => {
    const rest = first.subarray(1);
    if (first.toString('latin1', 0, 1) === ECHO) {
      if (rest.length > 0) socket.write(rest);
      socket.pipe(socket);
      return;
    }
    let total = rest.length;
    socket.on('data', (bytes: Buffer) => {
      total += bytes.length;
    });
    socket.on('end', () => socket.end(String(total)));
  });
}

/** The text `plain` asks for a server of node:net; an empty message for the number of messages before it. */
async function serveMessages(socket: MessageSocket): Promise<void> {
  let messages = 0;
  let plain: Server | undefined;
  for await (const message of socket.messages({ borrow: true })) {
    if (message.length === 0) {
      await socket.send(String(messages));
      messages = 0;
    } else if (messages === 0 && Buffer.from(message).toString() === 'plain') {
      plain ??= createTcpServer({ allowHalfOpen: true }, serveBytes).listen();
      if (!plain.listening) await once(plain, 'listening');
      await socket.send(String((plain.address() as AddressInfo).port));
    } else {
      messages += 1;
    }
  }
  plain?.close();
  socket.end();
}

function httpServer(flags: Flags) {
  const server = createHttpServer((request, response) => {
    const size = Number(request.url?.slice(1));
    const isRight = Number.isInteger(size) && size >= 0 && size <= MAX_BODY;
    response.statusCode = isRight ? 200 : 404;
    response.end(isRight ? Buffer.alloc(size) : undefined);
  });
  attach(server, fabricOf(flags));
  return server;
}
