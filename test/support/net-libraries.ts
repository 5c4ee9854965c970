// The libraries of sockets that tests compare: libfabric/net over several providers, and node:net, which shows that what a
// test expects is right.
import './softefa.js';
import { type EventEmitter, once } from 'node:events';
import * as tcp from 'node:net';
import { onTestFinished } from 'vitest';
import * as fabric from '../../dist/net/index.js';

export type Socket = tcp.Socket;

interface Functions {
  createServer(options: object, listener?: (socket: Socket) => void): tcp.Server;
  connect(options: tcp.NetConnectOpts, listener?: () => void): Socket;
  /** A socket that connects nowhere. */
  create(): Socket;
}

const over = (options: object): Functions => ({
  createServer: (more, listener) =>
    fabric.createServer({ ...options, ...more }, listener as never) as unknown as tcp.Server,
  connect: (more, listener) =>
    fabric.connect({ ...options, ...more } as never, listener) as unknown as Socket,
  create: () => new fabric.FabricSocket(options) as unknown as Socket,
});

const nodeNet: Functions = {
  createServer: tcp.createServer,
  connect: tcp.connect,
  create: () => new tcp.Socket(),
};

export class Library {
  readonly createServer: Functions['createServer'];
  readonly create: Functions['create'];
  readonly #connect: Functions['connect'];

  constructor({ createServer, connect, create }: Functions) {
    this.createServer = createServer;
    this.create = create;
    this.#connect = connect;
  }

  /** A server that listens, and its port. It closes when the test ends. */
  readonly serve = async (options: object = {}, listener?: (socket: Socket) => void) => {
    const sockets = new Set<Socket>();
    const server = this.createServer(options, (socket) => {
      sockets.add(socket.on('error', () => {}));
      listener?.(socket);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(async () => {
      for (const socket of sockets) socket.destroy();
      if (!server.listening) return;
      await new Promise((resolve) => server.close(resolve));
    });
    return { server, port: (server.address() as tcp.AddressInfo).port };
  };

  /** A socket that connects to a port of this host. It is destroyed when the test ends. */
  readonly open = (port: number, options: object = {}): Socket => {
    const client = this.#connect({ port, host: '127.0.0.1', ...options });
    onTestFinished(() => void client.destroy());
    return client.on('error', () => {});
  };

  /** A connected socket, and that of the server. */
  readonly pair = async (options: object = {}): Promise<[Socket, Socket]> => {
    const { signal: _ofClient, ...common } = options as { signal?: AbortSignal };
    const { server, port } = await this.serve(common);
    return this.join(server, port, options);
  };

  /** A connected socket, and that of this server. */
  readonly join = async (
    server: tcp.Server,
    port: number,
    options: object = {},
  ): Promise<[Socket, Socket]> => {
    const accepted = once(server, 'connection');
    const client = this.open(port, options);
    const [[peer]] = await Promise.all([accepted, once(client, 'connect')]);
    return [client, peer];
  };

  /** A port at which nobody listens. */
  readonly unusedPort = async (): Promise<number> => {
    const { server, port } = await this.serve();
    server.close();
    await once(server, 'close');
    return port;
  };
}

export const libraries: [string, Library][] = (
  [
    ['libfabric/net over shm', over({ provider: 'shm' })],
    ['libfabric/net over shm, loop driver', over({ provider: 'shm', driver: 'loop' })],
    ['libfabric/net over efa', over({ provider: 'efa' })],
    ['libfabric/net over tcp', over({ provider: 'tcp', node: '127.0.0.1' })],
    ['libfabric/net without a fabric', over({})],
    ['node:net', nodeNet],
  ] as const
).map(([name, functions]) => [name, new Library(functions)]);

/** `npm test` runs over each kind of path and of driver; `npm run suite -- slow` over the others. */
export const isQuick = ([name]: [string, Library]): boolean => /loop|efa|node:net/.test(name);

/** Everything until the end of the peer's side. The socket stays open. */
export function textOf(socket: Socket): Promise<string> {
  const read: (Buffer | string)[] = [];
  socket.on('data', (bytes) => read.push(bytes));
  return new Promise((resolve) =>
    socket.once('end', () =>
      resolve(socket.readableEncoding ? read.join('') : Buffer.concat(read as Buffer[]).toString()),
    ),
  );
}

/** Whether a socket closes with an error. */
export const closeOf = (socket: Socket) =>
  new Promise<boolean>((resolve) => socket.once('close', resolve));

/** The names of events, in the order in which a socket or a server emits them from now on. */
export function eventsOf(emitter: EventEmitter, ...names: string[]): string[] {
  const events: string[] = [];
  for (const name of names) emitter.on(name, () => events.push(name));
  return events;
}

/** What a callback of a write gets: null, or the code of its error. */
export const resultOf = (start: (done: (error?: Error | null) => void) => void) =>
  new Promise<string | null>((resolve) =>
    start((error) => resolve(error ? String((error as NodeJS.ErrnoException).code) : null)),
  );

export const turn = () => new Promise((resolve) => setImmediate(resolve));
