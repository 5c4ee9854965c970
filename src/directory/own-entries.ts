import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { withoutContext } from '../base/async-context.js';
import type { StoredEntry } from './store.js';

const PATH = '/libfabric/directory/';

/** The entries of this process, and the server that others ask for them. */
export class OwnEntries {
  readonly #groups = new Map<string, Map<string, StoredEntry>>();
  #server: Promise<Server> | undefined;

  static pathOf(group: string): string {
    return PATH + group;
  }

  set(group: string, entry: StoredEntry): void {
    const entries = this.#groups.get(group) ?? new Map<string, StoredEntry>();
    this.#groups.set(group, entries.set(entry.id, entry));
  }

  delete(group: string, id: string): void {
    this.#groups.get(group)?.delete(id);
  }

  /** Answers with the entries of a group: `{ [id]: { address, ttl } }`. */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const { url = '' } = request;
    if (!url.startsWith(PATH)) return false;
    if (request.method !== 'GET') {
      response.writeHead(405, { allow: 'GET' }).end();
      return true;
    }
    const entries = this.#groups.get(url.slice(PATH.length)) ?? new Map();
    const text = JSON.stringify(
      Object.fromEntries(
        [...entries.values()].map(({ id, address, ttl }) => [id, { address, ttl }]),
      ),
    );
    response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    return true;
  }

  /** Listens, if it does not. The server does not keep the process alive. */
  async listen(port: number, host: string | undefined): Promise<void> {
    this.#server ??= withoutContext(() => this.#listen(port, host));
    try {
      await this.#server;
    } catch (error) {
      this.#server = undefined;
      throw error;
    }
  }

  async #listen(port: number, host: string | undefined): Promise<Server> {
    const server = createServer((request, response) => {
      if (!this.handle(request, response)) response.writeHead(404).end();
    });
    server.on('connection', (socket) => socket.unref());
    server.unref().listen(port, host);
    await once(server, 'listening');
    return server;
  }

  async close(): Promise<void> {
    this.#groups.clear();
    const server = await this.#server?.catch(() => undefined);
    if (server === undefined) return;
    server.close();
    server.closeAllConnections();
  }
}
