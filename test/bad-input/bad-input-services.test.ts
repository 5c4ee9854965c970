// Every option and argument of the calls of libfabric/transfer, libfabric/objects, libfabric/directory and libfabric/http that
// throw.
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
import { describe } from 'vitest';
import {
  ALLOCATION,
  ANY_STRING,
  type Any,
  BOOLEAN,
  FUNCTION,
  LIMITS,
  MILLISECONDS,
  made,
  NONE,
  OBJECT,
  options,
  type Row,
  refusesWrong,
  STRING,
  store,
} from '../support/wrong-values.js';

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

function destroying(stream: Any) {
  stream.on('error', () => {}).destroy();
}

describe('a wrong value throws', () => refusesWrong('threw', throwing));
