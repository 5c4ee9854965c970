// The connections of a server, of which idle ones end before there is no place for others.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Channels } from './channel-server.js';
import { isAnswering } from './http-adapter.js';

const MAX_CONNECTIONS = 1000;
/** Further places, which idle connections leave free: node:net ends a connection that finds none. */
const FREE = 50;

/**
 * Lets idle connections give way to new ones: the one that is idle the longest comes first, whether it is a channel or one of
 * HTTP, and whether it has ever had a request. Connections with requests in progress stay.
 */
export class ConnectionLimit {
  readonly #channels: Channels;
  /** When each connection of HTTP was used, by performance.now(). The one whose use is the longest ago comes first. */
  readonly #used = new Map<Socket, number>();

  constructor(server: Server, channels: Channels) {
    this.#channels = channels;
    server.maxConnections = MAX_CONNECTIONS + FREE;
    server.on('connection', (socket: Socket) => {
      socket.once('close', () => this.left(socket));
      this.#makeRoom(1); // before it is known: if all others are busy, it stays
      this.#used.set(socket, performance.now());
    });
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      response.once('close', () => {
        if (!this.#used.delete(socket)) return;
        this.#used.set(socket, performance.now());
        this.idle();
      });
    });
  }

  /** A connection has ended, or is a channel now. */
  left(socket: Socket): void {
    this.#used.delete(socket);
  }

  /** A connection has no request in progress any more. Nothing tells of a new connection that finds no place. */
  idle(): void {
    if (this.#isFull) this.#makeRoom(0);
  }

  get #connections(): number {
    return this.#used.size + this.#channels.size;
  }

  get #isFull(): boolean {
    return this.#connections >= MAX_CONNECTIONS + FREE;
  }

  #makeRoom(wanted: number): void {
    if (this.#isFull) this.#channels.endLeaving();
    let over = this.#connections + wanted - this.#channels.leaving - MAX_CONNECTIONS;
    while (over > 0 && this.#endOne()) over -= 1;
  }

  #endOne(): boolean {
    const idle = this.#idlest();
    const channel = this.#channels.idle;
    if (idle === undefined || (channel && channel.used < idle.used))
      return this.#channels.makeRoom();
    this.left(idle.socket);
    idle.socket.destroy();
    return true;
  }

  #idlest(): { readonly socket: Socket; readonly used: number } | undefined {
    for (const [socket, used] of this.#used) if (!isAnswering(socket)) return { socket, used };
    return undefined;
  }
}
