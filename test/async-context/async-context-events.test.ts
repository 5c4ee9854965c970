// Each event and callback comes in the async context of the call that it belongs to, although others have opened the
// endpoints, the sessions and the engines that it shares. The table names all events of all emitters of the package.
import '../support/softefa.js';
import { EventEmitter, once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import {
  type ClientRequest,
  createServer as createHttp,
  get,
  type IncomingMessage,
} from 'node:http';
import { type AddressInfo, connect as connectTcp } from 'node:net';
import { ObjectClient } from 'libfabric/objects';
import { expect, onTestFinished, test } from 'vitest';
import {
  attach,
  type ConnectOptions,
  connect,
  createServer,
  FabricAgent,
  type FabricSocket,
  type MessageSocket,
  type ServerOptions,
} from '../../dist/net/index.js';
import { OwnerInContext } from '../../dist/net/owner-in-context.js';
import { allIn, as, Seen } from '../support/async-contexts.js';
import { TEST_CERT, TEST_KEY } from '../support/certificate.js';
import { HOST } from '../support/net-pair.js';
import { serve as serveObjects, TCP } from '../support/object-stores.js';
import { streamPair } from '../support/stream-pairs.js';

const SHM = { provider: 'shm' };
const BYTES = 64 * 1024; // more than a stream takes before it asks to wait
const MANY = 8 * 1024 * 1024; // bytes: more than a window

/** Two sockets of a server that listens in the context 'listen', in a session that the context 'first' has opened. */
async function sockets(options: ServerOptions & Partial<ConnectOptions> = SHM) {
  const seen = { client: new Seen(), server: new Seen() };
  const server = createServer({ ...options, allowHalfOpen: false });
  as('listen', () => server.listen(0, HOST));
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const first = as('first', () => connect({ host: HOST, port, ...options }));
  await Promise.all([once(server, 'connection'), once(first, 'connect')]);
  const accepting = new Promise<FabricSocket>((resolve) => {
    server.once('connection', (socket) => resolve(seen.server.watch(socket)));
  });
  const client = as('call', () => seen.client.watch(connect({ host: HOST, port, ...options })));
  const [peer] = await Promise.all([accepting, once(client, 'connect')]);
  onTestFinished(() => {
    for (const socket of [first, client, peer]) socket.destroy();
    server.close();
  });
  return { client, peer, seen };
}

/** All events of a socket, whose calls come in `context`. */
async function exercise(socket: FabricSocket, peer: FabricSocket, context: string) {
  const timeout = once(socket, 'timeout');
  as(context, () => socket.setTimeout(10));
  await timeout;
  socket.setTimeout(0);
  peer.write('x');
  await Promise.all([once(socket, 'readable'), as(context, () => once(socket, 'data'))]);
  const drain = once(socket, 'drain');
  as(context, () => socket.write(Buffer.alloc(MANY)));
  peer.resume();
  await drain;
  const isClosed = closed(socket);
  peer.end();
  await isClosed;
}

const OF_SOCKETS = ['timeout', 'data', 'drain', 'end', 'finish', 'close'];
const ANSWERED = ['connect', 'ready'];

async function reset(socket: FabricSocket, peer: FabricSocket): Promise<void> {
  socket.on('error', () => {});
  const isClosed = closed(socket);
  peer.resetAndDestroy();
  await isClosed;
}

async function messageSockets(ofClient: Partial<ConnectOptions> = SHM) {
  const server = createServer('provider' in ofClient ? {} : SHM);
  const seen = new Seen();
  as('listen', () => server.listen(0, HOST));
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const first = as('first', () => connect({ host: HOST, port, ...ofClient }));
  await once(first, 'connect');
  const accepting = once(server, 'messages');
  const client = as('call', () =>
    seen.watch(connect({ host: HOST, port, ...ofClient, mode: 'messages' })),
  );
  const [[peer]] = (await Promise.all([accepting, once(client, 'connect')])) as [
    [MessageSocket],
    unknown,
  ];
  onTestFinished(() => {
    for (const socket of [first, client, peer]) socket.destroy();
    server.close();
  });
  return { client, peer, seen };
}

/** A request over the connection of an earlier request. */
async function request(
  use: (request: ClientRequest, seen: Seen) => Promise<unknown>,
): Promise<Seen> {
  const seen = new Seen();
  const http = createHttp((incoming, response) => {
    seen.note('request');
    if (incoming.url === '/reset') incoming.socket.destroy();
    else if (incoming.url !== '/never') response.end('answer');
  });
  attach(http, SHM);
  as('listen', () => http.listen(0, HOST));
  await once(http, 'listening');
  const agent = new FabricAgent({ ...SHM, keepAlive: true, maxSockets: 1 });
  onTestFinished(() => {
    agent.destroy();
    http.closeAllConnections();
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  const ask = (path: string) => get({ host: HOST, port, agent, path });
  await as('first', async () => {
    const sent = ask('/');
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    await once(sent, 'close');
  });
  for (const path of ['/', '/never', '/reset'])
    await as('call', async () => {
      const sent = seen.watch(ask(path));
      sent.on('error', () => {});
      if (path === '/never') {
        sent.setTimeout(10);
        sent.once('timeout', () => sent.destroy());
      }
      await use(sent, seen);
    });
  return seen;
}

const closed = (emitter: EventEmitter): Promise<void> =>
  new Promise((resolve) => void emitter.once('close', () => resolve()));

/** The streams between two engines that the context 'first' has opened, and used. */
async function engines() {
  const pair = await as('first', () => streamPair(TCP));
  const memory = await as('first', () => pair.a.allocate(BYTES));
  return { ...pair, memory };
}

type Row = {
  readonly emitter: string;
  readonly context: string;
  readonly events: readonly string[];
  run(): Promise<Seen>;
};

const TABLE: readonly Row[] = [
  {
    emitter: 'FabricSocket',
    context: 'call',
    events: [...ANSWERED, ...OF_SOCKETS],
    run: async () => {
      const { client, peer, seen } = await sockets();
      await exercise(client, peer, 'call');
      return seen.client;
    },
  },
  {
    emitter: 'FabricSocket',
    context: 'call',
    events: ['error', 'close'],
    run: async () => {
      const { client, peer, seen } = await sockets();
      await reset(client, peer);
      return seen.client;
    },
  },
  {
    emitter: 'FabricSocket',
    context: 'listen',
    events: OF_SOCKETS,
    run: async () => {
      const { client, peer, seen } = await sockets();
      await exercise(peer, client, 'listen');
      return seen.server;
    },
  },
  {
    emitter: 'FabricSocket',
    context: 'listen',
    events: ['error', 'close'],
    run: async () => {
      const { client, peer, seen } = await sockets();
      await reset(peer, client);
      return seen.server;
    },
  },
  {
    emitter: 'FabricServer',
    context: 'listen',
    events: ['listening', 'connection', 'messages', 'drop', 'close'],
    run: async () => {
      const seen = new Seen();
      const server = seen.watch(createServer(SHM));
      as('listen', () => server.listen(0, HOST));
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const first = as('first', () => connect({ host: HOST, port, ...SHM }));
      await once(first, 'connect');
      server.on('messages', (socket: MessageSocket) => socket.destroy());
      connect({ host: HOST, port, ...SHM, mode: 'messages' });
      await once(server, 'messages');
      server.maxConnections = 1;
      const refused = connect({ host: HOST, port, ...SHM }).on('error', () => {});
      await Promise.all([once(server, 'drop'), closed(refused)]);
      const isClosed = closed(server);
      as('close', () => server.close(seen.callback('close()')));
      first.destroy();
      await isClosed;
      expect(seen.of(['close()'])).toEqual({ 'close()': 'close' });
      return seen;
    },
  },
  {
    emitter: 'FabricServer',
    context: 'listen',
    events: ['error', 'tlsClientError'],
    run: async () => {
      const seen = new Seen();
      const tls = { key: TEST_KEY, cert: TEST_CERT };
      const [server, second] = [createServer({ tls }), createServer()].map((each) =>
        seen.watch(each),
      ) as [ReturnType<typeof createServer>, ReturnType<typeof createServer>];
      as('listen', () => server.listen(0, HOST));
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      as('listen', () => second.listen(port, HOST));
      await once(second, 'error').catch(() => {});
      const stranger = connectTcp(port, HOST).on('error', () => {});
      stranger.write('no TLS');
      await once(server, 'tlsClientError');
      stranger.destroy();
      server.close();
      return seen;
    },
  },
  {
    emitter: 'MessageSocket',
    context: 'call',
    events: ['connect', 'close', 'error'],
    run: async () => {
      const { client, peer, seen } = await messageSockets();
      client.on('error', () => {});
      const isClosed = closed(client);
      as('other', () => client.destroy(new Error('why')));
      await isClosed;
      peer.destroy();
      return seen;
    },
  },
  {
    emitter: 'FabricAgent',
    context: 'call',
    events: ['socket', 'response', 'close', 'timeout', 'error', 'data', 'end'],
    run: () =>
      request(async (sent, seen) => {
        sent.once('response', (response) => seen.watch(response).resume());
        await closed(sent);
      }),
  },
  {
    emitter: 'FabricAgent',
    context: 'listen',
    events: ['request'],
    run: () => request((sent) => closed(sent.on('response', (response) => response.resume()))),
  },
  {
    emitter: 'TransferReadable',
    context: 'call',
    events: ['data', 'end', 'close'],
    run: async () => {
      const { b, toA, toB, memory } = await engines();
      const seen = new Seen();
      expect(b).toBeDefined();
      const offer = await memory.offer({ access: 'read', to: toB });
      const stream = as('call', () => seen.watch(toA.download(offer.token)));
      as('other', () => stream.resume());
      await closed(stream);
      return seen;
    },
  },
  {
    emitter: 'TransferReadable',
    context: 'call',
    events: ['error', 'close'],
    run: async () => {
      const { toA, toB, memory } = await engines();
      const seen = new Seen();
      const offer = await memory.offer({ access: 'read', to: toB });
      await offer.close();
      const stream = as('call', () => seen.watch(toA.download(offer.token)));
      stream.on('error', () => {});
      as('other', () => stream.resume());
      await closed(stream);
      return seen;
    },
  },
  {
    emitter: 'TransferWritable',
    context: 'call',
    events: ['drain', 'finish', 'close'],
    run: async () => {
      const { toA, toB, memory } = await engines();
      const seen = new Seen();
      const offer = await memory.offer({ access: 'write', to: toB });
      const stream = as('call', () => seen.watch(toA.writable(offer.token)));
      const drain = once(stream, 'drain');
      as('call', () => stream.write(Buffer.alloc(BYTES)));
      await drain;
      as('call', () => stream.end());
      await closed(stream);
      return seen;
    },
  },
  {
    emitter: 'IncomingStream',
    context: 'incoming',
    events: ['data', 'end', 'close'],
    run: async () => {
      const { a, toA, toB } = await engines();
      const seen = new Seen();
      const stream = as('incoming', () => seen.watch(a.incoming({ from: toB })));
      as('other', () => stream.resume());
      as('other', () => toA.writable(stream.token).end('bytes'));
      await closed(stream);
      return seen;
    },
  },
  {
    emitter: 'OutgoingStream',
    context: 'outgoing',
    events: ['finish', 'close'],
    run: async () => {
      const { a, toA, toB } = await engines();
      const seen = new Seen();
      const stream = as('outgoing', () => seen.watch(a.outgoing({ to: toB })));
      as('outgoing', () => stream.end('bytes'));
      as('other', () => toA.download(stream.token).resume());
      await closed(stream);
      return seen;
    },
  },
  {
    emitter: 'ArrivingReadable',
    context: 'call',
    events: ['data', 'end', 'close'],
    run: async () => {
      const { b, toA, toB, memory } = await engines();
      const seen = new Seen();
      const offer = await memory.offer({ access: 'read', to: toB });
      const into = await b.allocate(BYTES);
      const stream = as('call', () => seen.watch(toA.read(offer.token, into).readable()));
      as('call', () => stream.resume());
      await closed(stream);
      return seen;
    },
  },
  {
    emitter: 'MemoryWritable',
    context: 'call',
    events: ['finish', 'close'],
    run: async () => {
      const { memory } = await engines();
      const seen = new Seen();
      const stream = as('call', () => seen.watch(memory.writable()));
      as('call', () => stream.end('bytes'));
      await closed(stream);
      return seen;
    },
  },
];

for (const { emitter, context, events, run } of TABLE)
  test(`${emitter}: ${events.join(', ')} come in the context of ${context}`, async () => {
    const seen = await run();
    expect(seen.of(events)).toEqual(allIn(context, events));
  });

test('callbacks of sockets come in the contexts of their calls', async () => {
  const seen = new Seen();
  const server = createServer(SHM, (socket) => {
    seen.note('createServer()');
    socket.on('error', () => {}).pipe(socket);
  });
  as('listen()', () => server.listen(0, HOST, seen.callback('listen()')));
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const first = as('first', () => connect({ host: HOST, port, ...SHM }));
  await once(first, 'connect');
  const buffer = new Uint8Array(64);
  const memory = () => {
    seen.note('onread.buffer()');
    return buffer;
  };
  const read = new EventEmitter();
  const callback = () => {
    seen.note('onread.callback()');
    read.emit('read');
    return true;
  };
  const socket = as('connect()', () =>
    connect(
      { host: HOST, port, ...SHM, onread: { buffer: memory, callback } },
      seen.callback('connect()'),
    ),
  );
  await once(socket, 'connect');
  const hasRead = once(read, 'read');
  as('write()', () => socket.write('x', seen.callback('write()')));
  await hasRead;
  const timeout = once(socket, 'timeout');
  as('setTimeout()', () => socket.setTimeout(10, seen.callback('setTimeout()')));
  await timeout;
  as('large write()', () => socket.write(Buffer.alloc(MANY), seen.callback('large write()')));
  await once(socket, 'drain');
  as('getConnections()', () => server.getConnections(seen.callback('getConnections()')));
  await as('end()', () => new Promise<void>((resolve) => void socket.end(resolve)));
  first.destroy();
  await as(
    'close()',
    () =>
      new Promise<void>((resolve) => {
        server.close(() => {
          seen.note('close()');
          resolve();
        });
        socket.destroy();
      }),
  );
  const own = [
    'listen()',
    'connect()',
    'write()',
    'large write()',
    'setTimeout()',
    'getConnections()',
    'close()',
  ];
  expect(seen.of(own)).toEqual(Object.fromEntries(own.map((each) => [each, each])));
  expect(seen.of(['createServer()'])).toEqual(allIn('listen()', ['createServer()']));
  const onread = ['onread.buffer()', 'onread.callback()'];
  expect(seen.of(onread)).toEqual(allIn('connect()', onread));
});

test('authorize() of an object server is called in the context of its listen()', async () => {
  const seen = new Seen();
  const authorize = () => {
    seen.note('authorize()');
    return true;
  };
  const { connect: open } = await as('listen', () => serveObjects(TCP, { authorize }));
  const objects = await as('first', () => open());
  expect(objects).toBeInstanceOf(ObjectClient);
  await as('call', () => objects.put('key', Buffer.from('bytes')));
  await as('call', () => objects.get('key'));
  expect(seen.of(['authorize()'])).toEqual(allIn('listen', ['authorize()']));
});

test('every function of an owner of a stream is called in its context', () => {
  const names = Object.getOwnPropertyNames(OwnerInContext.prototype).filter(
    (name) => !['constructor', 'join', 'run'].includes(name),
  ) as 'readable'[];
  const seen = new Seen();
  const functions = Object.fromEntries(names.map((name) => [name, seen.callback(name)]));
  const owner = as('call', () => new OwnerInContext(functions as never));
  as('other', () => {
    for (const name of names) owner[name]();
  });
  expect(names).toContain('lostNic');
  expect(seen.of(names)).toEqual(allIn('call', names));
});

test('the table has every emitter of the package, and each event that it emits itself', () => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.startsWith('cli/'))
    .map((name) => readFileSync(`src/${name}`, 'utf8'));
  const known = new Set(['EventEmitter', 'Readable', 'Writable', 'Duplex', 'Transform', 'Agent']);
  const emitters = new Map<string, string>();
  for (let size = -1; size < known.size; ) {
    size = known.size;
    for (const text of sources)
      for (const [, name = '', base = ''] of text.matchAll(/class (\w+) extends (\w+)/g))
        if (known.has(base)) {
          known.add(name);
          emitters.set(name, text);
        }
  }
  emitters.delete('SessionDuplex'); // abstract
  expect([...emitters.keys()].sort()).toEqual([...new Set(TABLE.map((row) => row.emitter))].sort());
  for (const [name, text] of emitters) {
    const tested = TABLE.filter(({ emitter }) => emitter === name).flatMap(({ events }) => events);
    const own = [...text.matchAll(/this\.emit\('(\w+)'/g)].map(([, event]) => event as string);
    // OwnerInContext is tested above.
    const missing = own.filter((event) => !tested.includes(event));
    expect({ name, missing: missing.filter((event) => !/nicLost|fallback/.test(event)) }).toEqual({
      name,
      missing: [],
    });
  }
});
