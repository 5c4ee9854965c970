// Every option and argument of libfabric/transfer, libfabric/objects, libfabric/directory and libfabric/http, with values of
// every other type.
import { EventEmitter } from 'node:events';
import { createServer } from 'node:http';
import {
  EtcdDirectory,
  FolderDirectory,
  KubernetesDirectory,
  RedisDirectory,
  StoredDirectory,
} from 'libfabric/directory';
import { transferClient, transferServer } from 'libfabric/http';
import { ObjectClient } from 'libfabric/objects';
import { TransferEngine } from 'libfabric/transfer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MemoryDirectory } from '../support/memory-directory.js';

// biome-ignore lint/suspicious/noExplicitAny: the tests pass values that the types forbid
type Any = any;

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const VALUES: Readonly<Record<string, unknown>> = {
  null: null,
  true: true,
  NaN: Number.NaN,
  '-1': -1,
  '1.5': 1.5,
  '2^53': 2 ** 53,
  '1n': 1n,
  'an empty string': '',
  'a NUL': '\0',
  'a string': 'x y',
  'a symbol': Symbol('x'),
  'a function': () => {},
  '[]': [],
  '[null]': [null],
  '{}': {},
  'a revoked proxy': revoked(),
};

// What each type accepts.
const STRING = ['a string'];
const ANY_STRING = ['a string', 'an empty string'];
const MILLISECONDS = ['1.5'];
const BOOLEAN = ['true'];
const FUNCTION = ['a function'];
const OBJECT = ['{}'];
const NONE: string[] = [];

type Row = [
  name: string,
  call: (value: Any) => unknown,
  accepted: readonly string[],
  named?: RegExp,
];

/** A row for each option. */
const options = (
  what: string,
  call: (given: object) => unknown,
  all: Readonly<Record<string, readonly string[]>>,
): Row[] =>
  Object.entries(all).map(([name, accepted]) => [
    `${name} of ${what}`,
    (value) => call({ [name]: value }),
    accepted,
    new RegExp(`^options\\.${name}`),
  ]);

const TCP = { provider: 'tcp', node: '127.0.0.1' };
const store = { name: 'x', put() {}, remove() {}, list: () => [], close() {} };
const made = {} as Awaited<ReturnType<typeof make>>;

async function make() {
  const [engine, other] = [await TransferEngine.open(TCP), await TransferEngine.open(TCP)];
  const [peer, back] = [await engine.peer(other.address), await other.peer(engine.address)];
  const [memory, theirs] = [await engine.allocate(4096), await other.allocate(4096)];
  const write = await theirs.offer({ access: 'write', to: back });
  const read = await theirs.offer({ access: 'read', to: back });
  const pool = engine.pool({ size: 4096, count: 2 });
  const objects = new ObjectClient('http://127.0.0.1:1/b');
  const directory = new StoredDirectory(store as never);
  const http = transferClient(engine, (async () => new Response()) as typeof fetch);
  const server = transferServer(engine);
  const tokens = { write: write.token, read: read.token };
  return { engine, other, peer, memory, tokens, pool, objects, directory, http, server };
}

beforeAll(async () => void Object.assign(made, await make()));
afterAll(async () => {
  await Promise.all([made.engine.close(), made.other.close(), made.objects.close()]);
});

const LIMITS = { signal: NONE, timeout: MILLISECONDS };
const CONDITIONS = { ifMatch: ANY_STRING, ifNoneMatch: ANY_STRING, signal: NONE };
const READ = { ...CONDITIONS, range: NONE, checksum: NONE };
const ALLOCATION = { hugePages: BOOLEAN, shared: BOOLEAN, numaNode: NONE, nics: NONE };
const response = { setHeader() {} };

const throwing: Row[] = [
  ['an argument of StoredDirectory', (v) => new StoredDirectory(v), NONE, /^store/],
  ['no argument of StoredDirectory', () => new StoredDirectory(undefined as never), NONE, /^store/],
  ...options('a store', ({ ...given }) => new StoredDirectory({ ...store, ...given } as never), {
    name: STRING,
  }).map(([name, call, accepted]): Row => [name, call, accepted, /^store\.name/]),
  [
    'follow of a store',
    (follow) => new StoredDirectory({ ...store, follow } as never),
    FUNCTION,
    /^store\.follow/,
  ],
  ['put of a store', (put) => new StoredDirectory({ ...store, put } as never), FUNCTION, /^store/],
  ...options('StoredDirectory', (o) => new StoredDirectory(store as never, o), {
    interval: MILLISECONDS,
  }),
  ['the folder of FolderDirectory', (v) => new FolderDirectory(v), STRING, /^folder/],
  ...options('FolderDirectory', (o) => new FolderDirectory('/tmp', o), { interval: MILLISECONDS }),
  ...options(
    'EtcdDirectory',
    (o) => new EtcdDirectory({ endpoints: 'http://a:1', username: 'u', ...o }),
    {
      endpoints: NONE,
      prefix: ANY_STRING,
      username: STRING,
      password: ANY_STRING,
      tls: OBJECT,
      interval: MILLISECONDS,
    },
  ),
  [
    'password without username',
    (password) => new EtcdDirectory({ endpoints: 'http://a:1', password }),
    NONE,
    /^options\.password/,
  ],
  [
    'an endpoint of EtcdDirectory',
    (v) => new EtcdDirectory({ endpoints: ['http://a:1', v] }),
    NONE,
    /^options\.endpoints\[1\]/,
  ],
  ...options('RedisDirectory', (o) => new RedisDirectory({ url: 'redis://a:1', ...o }), {
    url: NONE,
    prefix: ANY_STRING,
    client: OBJECT,
    interval: MILLISECONDS,
  }),
  ...options(
    'KubernetesDirectory',
    (o) => new KubernetesDirectory({ service: 'a', port: 1, ...o }),
    {
      service: STRING,
      port: NONE,
      host: STRING,
      listen: BOOLEAN,
      resolve: FUNCTION,
      interval: MILLISECONDS,
    },
  ),
  ...options('watch()', (o) => made.directory.watch('a', o), { signal: NONE }),
  ['the group of watch()', (v) => made.directory.watch(v), NONE, /^group/],
  ['the url of ObjectClient', (v) => new ObjectClient(v), NONE, /^url/],
  ...options('ObjectClient', (o) => new ObjectClient('http://a/b', o), {
    engine: NONE,
    pool: NONE,
    fetch: FUNCTION,
    headers: OBJECT,
    timeout: MILLISECONDS,
  }),
  [
    'a header of ObjectClient',
    (v) => new ObjectClient('http://a/b', { headers: { a: v } }),
    ANY_STRING,
    /^options\.headers\['a'\]/,
  ],
  [
    'the name of a header',
    () => new ObjectClient('http://a/b', { headers: { 'a b': 'x' } }),
    NONE,
    /^options\.headers/,
  ],
  ...options('list()', (o) => made.objects.list(o), {
    prefix: ANY_STRING,
    delimiter: ANY_STRING,
    startAfter: ANY_STRING,
    pageSize: NONE,
    signal: NONE,
  }),
  ['the engine of transferServer()', (v) => transferServer(v), NONE, /^engine/],
  ['the source of transferServer()', (v) => transferServer(made.engine, v), NONE, /^server/],
  ...options('transferServer()', (o) => transferServer(made.engine, createServer(), o), {
    keep: MILLISECONDS,
    maxClients: NONE,
    admit: FUNCTION,
  }),
  ['the engine of transferClient()', (v) => transferClient(v), NONE, /^engine/],
  ['the fetch of transferClient()', (v) => transferClient(made.engine, v), FUNCTION, /^fetch/],
  ['the tokens of headers()', (v) => made.http.headers(v), ['[]'], /^tokens/],
  ['the server of attach()', (v) => made.server.attach(v), NONE, /^server/],
  ...options('pool()', (o) => made.engine.pool({ size: 4096, count: 1, ...o }), {
    size: NONE,
    count: NONE,
    name: ANY_STRING,
    ...ALLOCATION,
  }),
  ...options('incoming()', (o) => destroying(made.engine.incoming({ from: made.peer, ...o })), {
    from: NONE,
    pool: NONE,
    expires: MILLISECONDS,
    ...LIMITS,
  }),
  ...options('outgoing()', (o) => destroying(made.engine.outgoing({ to: made.peer, ...o })), {
    to: NONE,
    pool: NONE,
    expires: MILLISECONDS,
    ...LIMITS,
  }),
  ['the peers of group()', (v) => made.engine.group(v), ['[]'], /^peers/],
  ['the start of slice()', (v) => made.memory.slice(v), NONE, /^start/],
  ['the memory of write()', (v) => made.peer.write(v, made.tokens.write), NONE, /^from/],
  ['the token of write()', (v) => made.peer.write(made.memory, v), NONE, /^token/],
  ['the memory of read()', (v) => made.peer.read(made.tokens.read, v), NONE, /^into/],
  ['the token of grant()', (v) => made.peer.grant(v), NONE, /^token/],
  ['the token of writable()', (v) => made.peer.writable(v), NONE, /^token/],
  ['the token of download()', (v) => made.peer.download(v), NONE, /^token/],
  ...['write', 'read', 'writable', 'download'].flatMap((name) => {
    const { peer } = made as { peer: Any };
    const calls: Record<string, (o: object) => unknown> = {
      write: (o) => (made.peer ?? peer).write(made.memory, made.tokens.write, o),
      read: (o) => made.peer.read(made.tokens.read, made.memory, o),
      writable: (o) => made.peer.writable(made.tokens.write, o),
      download: (o) => made.peer.download(made.tokens.read, o),
    };
    const own = { write: { notification: NONE }, read: { notification: NONE } };
    const all = (own as Any)[name] ?? { pool: NONE };
    return options(`${name}()`, calls[name] as never, {
      signal: NONE,
      timeout: MILLISECONDS,
      priority: NONE,
      ...all,
    });
  }),
];

const rejecting: Row[] = [
  ...options('TransferEngine.open()', (o) => TransferEngine.open(o), {
    nics: NONE,
    threads: NONE,
    provider: STRING,
    fabric: STRING,
    node: STRING,
    hmem: BOOLEAN,
    require: NONE,
    secret: ['a string', 'a NUL'],
    slice: NONE,
    stripe: NONE,
    window: NONE,
    depth: NONE,
    stall: MILLISECONDS,
    mapMemory: BOOLEAN,
    liveness: NONE,
    maxTransfers: NONE,
  }),
  ['the address of peer()', (v) => made.engine.peer(v), NONE, /^address/],
  ...options('peer()', (o) => made.engine.peer(made.other.address, o), {
    admit: FUNCTION,
    from: OBJECT,
  }),
  [
    'from.remoteAddress of peer()',
    (remoteAddress) => made.engine.peer(made.other.address, { from: { remoteAddress } }),
    NONE,
    /^options\.from\.remoteAddress/,
  ],
  ['the bytes of register()', (v) => made.engine.register(v), NONE, /^bytes/],
  ...options('register()', (o) => made.engine.register(new Uint8Array(8), o), { nics: NONE }),
  ['the length of allocate()', (v) => made.engine.allocate(v), NONE, /^length/],
  ...options('allocate()', (o) => made.engine.allocate(8, o), {
    ...ALLOCATION,
    hugePages: BOOLEAN,
    shared: BOOLEAN,
  }),
  ['the directory of join()', (v) => made.engine.join(v, 'a'), NONE, /^directory/],
  ['the name of join()', (v) => made.engine.join(new MemoryDirectory(), v), NONE, /^name/],
  ...options('join()', (o) => made.engine.join(new MemoryDirectory(), 'a', o), {
    signal: NONE,
    timeout: MILLISECONDS,
    ttl: NONE,
  }),
  ...options('offer()', (o) => made.memory.offer({ access: 'write', to: made.peer, ...o }), {
    access: NONE,
    to: NONE,
    expires: MILLISECONDS,
    slices: NONE,
    repeat: BOOLEAN,
  }),
  ['the length of acquire()', (v) => made.pool.acquire(v), NONE, /^length/],
  ...options('acquire()', (o) => made.pool.acquire(8, o), { signal: NONE, timeout: MILLISECONDS }),
  ['the bytes of notify()', (v) => made.peer.notify(v), NONE, /^bytes/],
  ['the bytes of group.notify()', (v) => made.engine.group([made.peer]).notify(v), NONE, /^bytes/],
  [
    'the parts of scatter()',
    (v) => made.engine.group([made.peer]).scatter(v),
    NONE,
    /^(parts|from)/,
  ],
  ...options('barrier()', (o) => made.engine.group([made.peer]).barrier(o), {
    signal: NONE,
    timeout: MILLISECONDS,
  }),
  [
    'the source of upload()',
    (v) => made.peer.upload(v, made.tokens.write),
    ['[]', '[null]'],
    /^(source|a part of source)/,
  ],
  ['the token of upload()', (v) => made.peer.upload([], v), NONE, /^token/],
  ...options('upload()', (o) => made.peer.upload([], made.tokens.write, o), {
    pool: NONE,
    signal: NONE,
    timeout: MILLISECONDS,
    priority: NONE,
  }),
  ...['get', 'lease', 'head', 'delete'].flatMap((name): Row[] => {
    const more = () => (name === 'lease' ? [made.pool] : []);
    const call = (...args: Any[]) => (made.objects as Any)[name](...args);
    const all = name === 'get' ? { ...READ, into: NONE } : name === 'lease' ? READ : CONDITIONS;
    const checked = Object.fromEntries(Object.keys(all).map((each) => [each, (all as Any)[each]]));
    return [
      [`the key of ${name}()`, (v) => call(v, ...more()), ['a string'], /^key/],
      ...options(`${name}()`, (o) => call('a', ...more(), o), checked),
    ];
  }),
  ['the pool of lease()', (v) => made.objects.lease('a', v), NONE, /^pool/],
  ['the key of put()', (v) => made.objects.put(v, 'x'), ['a string'], /^key/],
  [
    'the body of put()',
    (v) => made.objects.put('a', v),
    [...ANY_STRING, 'a NUL', '[]', '[null]'],
    /^body/,
  ],
  ...options('put()', (o) => made.objects.put('a', 'x', o), { ...CONDITIONS, checksum: NONE }),
  ['the key of stream()', (v) => made.objects.stream(v).next(), ['a string'], /^key/],
  ...options('stream()', (o) => made.objects.stream('a', o).next(), READ),
  [
    'the result of fetch',
    (v) => new ObjectClient('http://a/b', { fetch: (async () => v) as never }).get('a'),
    ['a revoked proxy'], // a promise cannot resolve to one
    /^the result of options\.fetch/,
  ],
  [
    'the group of publish()',
    (v) => made.directory.publish(v, { id: 'a', address: 'a' }),
    NONE,
    /^group/,
  ],
  ['the entry of publish()', (v) => made.directory.publish('a', v), NONE, /^entry/],
  ['entry.id', (id) => made.directory.publish('a', { id, address: 'a' }), NONE, /^entry\.id/],
  [
    'entry.address',
    (address) => made.directory.publish('a', { id: 'a', address }),
    ANY_STRING,
    /^entry\.address/,
  ],
  ...options('publish()', (o) => made.directory.publish('a', { id: 'a', address: 'a' }, o), {
    ttl: NONE,
  }),
  ['the group of withdraw()', (v) => made.directory.withdraw(v, 'a'), NONE, /^group/],
  ['the id of withdraw()', (v) => made.directory.withdraw('a', v), NONE, /^id/],
  ['the group of lookup()', (v) => made.directory.lookup(v), NONE, /^group/],
  ['the url of fetch()', (v) => made.http.fetch(v), NONE, /^url/],
  ['the init of fetch()', (v) => made.http.fetch('http://a/', v), OBJECT, /^init/],
  [
    'the tokens of fetch()',
    (tokens) => made.http.fetch('http://a/', { tokens }),
    ['[]'],
    /^tokens/,
  ],
  [
    'the headers of fetch()',
    (headers) => made.http.fetch('http://a/', { headers }),
    ['[]', '{}'],
    /^init\.headers/,
  ],
  ['the url of received()', (v) => made.http.received(v, {}), NONE, /^url/],
  ['the headers of received()', (v) => made.http.received('http://a/', v), OBJECT, /^headers/],
  ['the url of peer()', (v) => made.http.peer(v), NONE, /^url/],
  [
    'the request of clientOf()',
    (v) => made.server.clientOf(v, response as never),
    NONE,
    /^request/,
  ],
  [
    'the connection of clientOf()',
    (remoteAddress) =>
      made.server.clientOf({ headers: {}, socket: { remoteAddress } } as never, response as never),
    NONE,
    /^request\.socket/,
  ],
  [
    'the response of clientOf()',
    (v) => made.server.clientOf({ headers: {}, socket: new EventEmitter() } as never, v),
    NONE,
    /^response/,
  ],
];

function destroying(stream: Any) {
  stream.on('error', () => {}).destroy();
}

const CODES = /^ERR_(INVALID_ARG_(TYPE|VALUE)|OUT_OF_RANGE)$/;
const LATE = {};

/** What is wrong with the answer to a wrong value. */
async function wrongOf([, call, , named = /./]: Row, value: unknown, how: string) {
  let result: unknown;
  let error: Any;
  try {
    result = call(value);
    if (how === 'threw') return 'did not throw';
  } catch (thrown) {
    if (how !== 'threw') return `threw ${thrown}`;
    error = thrown;
  }
  if (how === 'rejected') {
    const settled = Promise.resolve(result).then(
      () => undefined,
      (reason) => ({ reason }),
    );
    const late = new Promise<typeof LATE>((resolve) =>
      setImmediate(() => setImmediate(resolve, LATE)),
    );
    const end = (await Promise.race([settled, late])) as { reason?: unknown } | undefined;
    if (end === undefined || end === LATE)
      return end === LATE ? 'has not rejected at once' : 'was accepted';
    error = end.reason;
  }
  if (!CODES.test(error?.code)) return `${error?.code}: ${error}`;
  return named.test(error.message) ? undefined : `names nothing: ${error.message}`;
}

describe.each([
  ['threw', throwing],
  ['rejected', rejecting],
] as const)('a wrong value: the call %s', (how, rows) => {
  test.each(rows)('%s', async (...row) => {
    const wrong: string[] = [];
    for (const [label, value] of Object.entries(VALUES)) {
      if (row[2].includes(label)) continue;
      const text = await wrongOf(row, value, how);
      if (text !== undefined) wrong.push(`${label}: ${text}`);
    }
    expect(wrong).toEqual([]);
  });
});
