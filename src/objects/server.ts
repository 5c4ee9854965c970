import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import { type AddressInfo, Server as NetServer } from 'node:net';
import { withoutContext } from '../base/async-context.js';
import {
  checkInteger,
  checkMilliseconds,
  checkOptions,
  checkString,
  namesOf,
} from '../base/checks.js';
import { uncloneable } from '../base/describe.js';
import { closed, invalidArgType } from '../base/errors.js';
import { isInstance } from '../base/objects.js';
import { ifStillIdle } from '../base/time-limit.js';
import { watchFreedMemory } from '../engine/freed-memory.js';
import { type ClientsOptions, checkClientsOptions } from '../http/clients.js';
import { TransferEngine } from '../transfer/index.js';
import { Channels } from './channel-server.js';
import { ConnectionLimit } from './connection-limit.js';
import { ServerFabric } from './fabric.js';
import { ObjectFolder } from './folder.js';
import { answerHttp, IDLE } from './http-adapter.js';
import { MAX_PIECE, MIN_PIECE } from './protocol.js';
import { type Authorize, ObjectService } from './service.js';

const UNCLONEABLE = uncloneable('an ObjectServer belongs to its thread: send server.url');

const MAX_HEADERS = 2 ** 20; // bytes: the tokens of an object of 20 GB
const LIMITS = {
  maxHeaderSize: MAX_HEADERS,
  headersTimeout: 10_000, // ms
  connectionsCheckingInterval: 1000,
  requestTimeout: 0, // no limit, because large bodies take long
  keepAliveTimeout: IDLE,
};
const KEEP_UPLOADS = 7 * 24 * 3_600_000; // ms
/** How often a server looks for what was left behind, in milliseconds. */
const SWEEP = { min: 1000, max: 3_600_000 };

/** Options of createObjectServer(). */
export interface ObjectServerOptions extends ClientsOptions {
  /** Moves the bytes of clients that have an engine too. The program closes it. If omitted, all bytes go over HTTP. */
  readonly engine?: TransferEngine;
  /** Bytes of a piece that the engine moves at once, and of each buffer. Default: 4 MiB. */
  readonly pieceSize?: number;
  /** The most buffers. Requests that find none wait. Default: 8. */
  readonly buffers?: number;
  /** Whether objects are on the disk before a PUT is confirmed. Default: true. */
  readonly durable?: boolean;
  /**
   * Milliseconds after its creation or its last part, after which a multipart upload that was neither completed nor aborted is
   * removed, unless a part is arriving. The server looks for such uploads when it starts and every hour, or every `keepUploads` if
   * that is shorter, but at most once a second. Default: a week.
   */
  readonly keepUploads?: number;
  /**
   * Decides whether a request is allowed: only `true` allows it. If it throws, the request gets 500. If omitted, all are allowed:
   * the server checks no signatures.
   */
  readonly authorize?: Authorize;
  /** A server of node:http or node:https to answer the requests of, which the program closes. If omitted, a new one. */
  readonly server?: Server | SecureServer;
}

const NAMES = namesOf<ObjectServerOptions>({
  keep: 1,
  maxClients: 1,
  admit: 1,
  engine: 1,
  pieceSize: 1,
  buffers: 1,
  durable: 1,
  keepUploads: 1,
  authorize: 1,
  server: 1,
});

/** Serves the objects in a folder. createObjectServer() makes it. */
export class ObjectServer {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /** The server of node:http or node:https. */
  readonly http: Server | SecureServer;
  /** The folder. */
  readonly root: string;
  readonly #folder: ObjectFolder;
  readonly #channels: Channels;
  readonly #service: ObjectService;
  readonly #fabric: ServerFabric | undefined;
  readonly #detach: () => void;
  readonly #isOwn: boolean;
  readonly #answer: RequestListener;
  readonly #sweeping: NodeJS.Timeout;
  readonly #unwatchMemory: () => void;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(
    root: string,
    folder: ObjectFolder,
    options: Partial<ObjectServerOptions>,
    buffers: { readonly size: number; readonly count: number },
  ) {
    const { engine, authorize, server, keepUploads = KEEP_UPLOADS } = options;
    this.root = root;
    this.#folder = folder;
    const fabric = engine && new ServerFabric(engine, engine.pool(buffers), options);
    this.#fabric = fabric;
    const service = new ObjectService({ folder, fabric }, authorize);
    this.#service = service;
    this.#channels = new Channels(service);
    this.http = server ?? createServer(LIMITS);
    this.#isOwn = server === undefined;
    this.#answer = (request, response) => answerHttp(service, request, response);
    this.http.on('request', this.#answer);
    this.#detach = this.#channels.attach(this.http);
    const sweep = () => void service.sweep(keepUploads);
    const every = Math.min(Math.max(keepUploads, SWEEP.min), SWEEP.max);
    this.#sweeping = withoutContext(() => setInterval(sweep, every).unref());
    sweep();
    this.#unwatchMemory = watchFreedMemory();
    if (server) return;
    this.#channels.limit = new ConnectionLimit(this.http, this.#channels);
    this.http.setTimeout(IDLE, (socket) => ifStillIdle(socket, () => socket.destroy()));
  }

  /** Listens. Returns the URL of the server. @param port 0: one that is free. */
  async listen(port = 0, host = '127.0.0.1'): Promise<string> {
    checkInteger('port', port, 0, 65_535);
    checkString('host', host);
    if (this.closed) throw closed('the object server');
    await once(this.http.listen(port, host), 'listening');
    return this.url as string;
  }

  /** The URL. Undefined unless the server listens on a port. */
  get url(): string | undefined {
    const at = this.http.address() as AddressInfo | string | null;
    if (at === null || typeof at === 'string') return undefined;
    const host = at.family === 'IPv6' ? `[${at.address}]` : at.address;
    return `${'setSecureContext' in this.http ? 'https' : 'http'}://${host}:${at.port}`;
  }

  /** Whether close() was called. */
  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /**
   * Ends the channels, and all connections of a server that it has made. Resolves when nothing uses the folder and the
   * buffers any more. It does not wait for `authorize` and `admit`: what they answer later is dropped.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearInterval(this.#sweeping);
    this.#unwatchMemory();
    this.#channels.close();
    this.#detach();
    this.http.off('request', this.#answer);
    if (this.#isOwn && this.http.listening) {
      const ending = once(this.http, 'close');
      this.http.close();
      this.http.closeAllConnections();
      await ending;
    }
    this.#service.end();
    await this.#service.drain();
    await this.#fabric?.close();
    await this.#folder.close();
  }

  /** Closes the server: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Makes a server of the objects in a folder. A bucket is a folder of it, and the object `a/b` is the file `a/b` of its
 * bucket. One server may have a folder at a time.
 *
 * @example
 * ```ts
 * await using server = await createObjectServer('/srv/objects', { engine });
 * console.log(await server.listen(8080));
 * ```
 * @throws Error with the code of the system, such as ENOENT, if the folder cannot be opened. FabricError FI_ENOSYS without
 * /proc. TypeError, RangeError for invalid options.
 */
export async function createObjectServer(
  root: string,
  options: ObjectServerOptions = {},
): Promise<ObjectServer> {
  checkString('root', root);
  const checked = checkOptions('options', options, NAMES);
  checkClientsOptions(checked);
  const { engine, pieceSize = 4 * 1024 * 1024, buffers = 8, durable = true, authorize } = checked;
  if (engine !== undefined && !isInstance(engine, TransferEngine))
    throw invalidArgType('options.engine', 'a TransferEngine', engine);
  if (typeof durable !== 'boolean') throw invalidArgType('options.durable', 'a boolean', durable);
  if (authorize !== undefined && typeof authorize !== 'function')
    throw invalidArgType('options.authorize', 'a function', authorize);
  if (checked.server !== undefined && !isInstance(checked.server, NetServer))
    throw invalidArgType('options.server', 'a server of node:http or node:https', checked.server);
  if (checked.keepUploads !== undefined)
    checkMilliseconds('options.keepUploads', checked.keepUploads);
  const size = checkInteger('options.pieceSize', pieceSize, MIN_PIECE, MAX_PIECE);
  const count = checkInteger('options.buffers', buffers, 1, 2 ** 16);
  const folder = await ObjectFolder.open(root, durable);
  try {
    return new ObjectServer(root, folder, checked, { size, count });
  } catch (error) {
    await folder.close();
    throw error;
  }
}
