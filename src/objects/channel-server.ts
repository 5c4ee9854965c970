// The server's half of channel.ts.
import { closeSync, read as readWithCallback } from 'node:fs';
import type { IncomingMessage, Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { promisify } from 'node:util';
import { CONNECT_TIMEOUT, meet } from '../net/connect.js';
import { MessageSocket } from '../net/message-socket.js';
import type { FabricOptions } from '../net/ports.js';
import type { Session } from '../net/session.js';
import { areFields, decodeMessage, encodeMessage, MAX_MESSAGE } from './channel.js';
import { ObjectError } from './errors.js';
import { CHANNEL } from './protocol.js';
import { isFilePart, type ObjectRequest, type ObjectResponse } from './request.js';
import type { ObjectService } from './service.js';

const read = promisify(readWithCallback);

const MAX_CALLS = 256; // that a channel has in progress. Further ones wait.

/** The channels of a server. */
export class Channels {
  readonly #service: ObjectService;
  readonly #fabric: FabricOptions;
  readonly #sessions = new Set<Session>();
  readonly #sockets = new Set<Duplex>();

  constructor(service: ObjectService, fabric: FabricOptions) {
    this.#service = service;
    this.#fabric = fabric;
  }

  /** Takes connections of a server that ask for a channel. */
  attach(server: Server | SecureServer): void {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (request.headers.upgrade === CHANNEL)
        this.#accept(socket, head).catch(() => socket.destroy());
      else if (server.listenerCount('upgrade') === 1) socket.destroy(); // nobody else answers
    });
  }

  async #accept(socket: Duplex, head: Buffer): Promise<void> {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${CHANNEL}\r\n\r\n`,
    );
    if (head.length > 0) socket.unshift(head);
    const session = await meet(socket, this.#fabric, CONNECT_TIMEOUT, 'server');
    this.#sessions.add(session);
    session.onEnd = () => this.#sessions.delete(session);
    session.isOfOneSocket = true;
    session.opened = (stream) => {
      const link = MessageSocket.accepted(session, stream, { maxMessageLength: MAX_MESSAGE });
      session.answer(stream, 0);
      new Channel(this.#service, link).run();
    };
    session.start();
  }

  close(): void {
    for (const session of this.#sessions) session.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

class Channel {
  readonly #service: ObjectService;
  readonly #link: MessageSocket;
  readonly #gone = new AbortController();
  readonly #calls = new Map<number, AbortController | undefined>();
  #ended: (() => void) | undefined;

  constructor(service: ObjectService, link: MessageSocket) {
    this.#service = service;
    this.#link = link;
    link.once('close', () => {
      for (const call of this.#calls.values()) call?.abort();
      this.#gone.abort();
    });
  }

  async run(): Promise<void> {
    try {
      for await (const bytes of this.#link) {
        const { id, head, body } = decodeMessage(bytes);
        const [method, url, fields] = head as readonly unknown[];
        if (method === 'ABORT') this.#calls.get(id)?.abort();
        else if (
          typeof method !== 'string' ||
          typeof url !== 'string' ||
          !areFields(fields) ||
          this.#calls.has(id)
        )
          throw new ObjectError('InvalidArgument');
        else {
          // The bytes of the message are valid until the next one.
          const kept = body.length === 0 ? body : Buffer.from(body);
          this.#answer(id, this.#requestOf(id, method, url, fields, kept));
          if (this.#calls.size >= MAX_CALLS)
            await new Promise<void>((free) => (this.#ended = free));
        }
      }
      this.#link.end();
    } catch {
      this.#link.destroy(); // it is gone, or does not speak this protocol
    }
  }

  #requestOf(
    id: number,
    method: string,
    url: string,
    fields: Record<string, string>,
    body: Uint8Array,
  ): ObjectRequest {
    this.#calls.set(id, undefined);
    const signal = () => {
      const known = this.#calls.get(id);
      if (known) return known.signal;
      const controller = new AbortController();
      if (this.#gone.signal.aborted) controller.abort();
      else this.#calls.set(id, controller);
      return controller.signal;
    };
    return {
      method,
      url,
      fields,
      body,
      get signal() {
        return signal();
      },
      quietly: (work) => work(),
    };
  }

  async #answer(id: number, request: ObjectRequest): Promise<void> {
    try {
      const answer = await this.#service.handle(request);
      const body = await bytesOf(answer.body);
      await this.#link.send(encodeMessage(id, [answer.status, answer.fields], body));
    } catch {
      this.#link.destroy(); // it is gone, or a file has become shorter
    } finally {
      this.#calls.delete(id);
      const ended = this.#ended;
      this.#ended = undefined;
      ended?.();
    }
  }
}

async function bytesOf(body: ObjectResponse['body']): Promise<Uint8Array | undefined> {
  if (typeof body === 'string') return Buffer.from(body);
  if (!isFilePart(body)) return body;
  const { fd, start, end } = body;
  try {
    const length = end - start;
    if (length > MAX_MESSAGE / 2) throw new ObjectError('EntityTooLarge');
    const bytes = Buffer.allocUnsafe(length);
    for (let done = 0; done < length; ) {
      const { bytesRead } = await read(fd, bytes, done, length - done, start + done);
      if (bytesRead === 0) throw new Error('the file has become shorter');
      done += bytesRead;
    }
    return bytes;
  } finally {
    closeSync(fd);
  }
}
