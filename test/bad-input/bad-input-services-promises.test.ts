// The same of the calls that return promises: they reject.
import { EventEmitter } from 'node:events';
import { ObjectClient } from 'libfabric/objects';
import { TransferEngine } from 'libfabric/transfer';
import { describe } from 'vitest';
import { MemoryDirectory } from '../support/memory-directory.js';
import {
  ALLOCATION,
  ANY_STRING,
  type Any,
  BOOLEAN,
  CONDITIONS,
  FUNCTION,
  MILLISECONDS,
  made,
  NONE,
  OBJECT,
  options,
  READ,
  type Row,
  refusesWrong,
  response,
  STRING,
} from '../support/wrong-values.js';

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

describe('a wrong value rejects', () => refusesWrong('rejected', rejecting));
