// Every export of the package and every public method of its objects, with wrong values in the place of each argument.
import { EventEmitter } from 'node:events';
import { createServer } from 'node:http';
import * as root from 'libfabric';
import * as directory from 'libfabric/directory';
import * as efa from 'libfabric/efa';
import * as net from 'libfabric/net';
import * as objects from 'libfabric/objects';
import * as softefa from 'libfabric/softefa';
import * as transfer from 'libfabric/transfer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as http from '../../dist/http/index.js';
import { boom } from '../support/bad-input.js';
import { functionsWithPromises, methodsOf, returnsPromise } from '../support/public-members.js';

// The declarations of ES2023 do not have them.
const Resizable = ArrayBuffer as unknown as new (
  length: number,
  options: { readonly maxByteLength: number },
) => ArrayBuffer & { resize(length: number): void };

type Call = (...args: unknown[]) => unknown;

function outOfBounds(): Uint8Array {
  const buffer = new Resizable(64, { maxByteLength: 64 });
  const view = new Uint8Array(buffer, 32);
  buffer.resize(16);
  return view;
}

function detached(): Uint8Array {
  const view = new Uint8Array(8);
  structuredClone(view.buffer, { transfer: [view.buffer] });
  return view;
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const throwing = () => {
  throw boom;
};

/** New values for each call, because a call may change them. */
const values: readonly (readonly [string, () => unknown])[] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['5', () => 5],
  ['NaN', () => Number.NaN],
  ['-1', () => -1],
  ['an empty string', () => ''],
  ['a string', () => 'x'],
  ['a symbol', () => Symbol('x')],
  ['a function', () => () => {}],
  ['[]', () => []],
  ['{}', () => ({})],
  ['an object without a prototype', () => Object.create(null)],
  ['a revoked proxy', revoked],
  [
    'an object with a getter that throws',
    () => Object.defineProperty({}, 'x', { enumerable: true, get: throwing }),
  ],
  [
    'an object whose members all throw',
    () => new Proxy({}, { get: throwing, has: throwing, ownKeys: throwing }),
  ],
  ['a detached view', detached],
  ['a view out of the bounds of its buffer', outOfBounds],
];

const PLACES = 3; // arguments

/** What an error lacks: nothing if it is an Error with a code, or that of the hostile object. */
function lackOf(error: unknown): string | undefined {
  if (error === boom) return undefined;
  if (error instanceof Error && typeof (error as { code?: unknown }).code === 'string')
    return undefined;
  return error instanceof Error ? `${error.name}: ${error.message}` : `threw ${typeof error}`;
}

/** Calls, and returns what is wrong with the error. A call that succeeds, or waits, is right. */
async function wrongOf(call: () => unknown, rejects: boolean): Promise<string | undefined> {
  let result: unknown;
  try {
    result = call();
  } catch (error) {
    return rejects ? `threw, and should reject: ${error}` : lackOf(error);
  }
  if (result instanceof EventEmitter) {
    result.on('error', () => {});
    (result as { destroy?: () => void }).destroy?.();
  }
  if (typeof (result as { next?: unknown } | undefined)?.next === 'function') {
    result = (result as AsyncIterator<unknown>).next();
  }
  const settled = Promise.resolve(result).then(() => undefined, lackOf);
  return Promise.race([
    settled,
    new Promise<undefined>((resolve) => setTimeout(resolve, 20, undefined)),
  ]);
}

/** What is wrong with the calls that have each value in each place, behind valid arguments. */
async function wrongCalls(
  call: Call,
  valid: readonly unknown[] = [],
  length = PLACES,
  rejects = false,
): Promise<string[]> {
  const places = Array.from({ length: Math.max(valid.length, length) }, (_, place) => place);
  const calls = places.flatMap((place) =>
    values.map(async ([label, make]) => {
      const before = Array.from({ length: place }, (_, i) => valid[i]);
      const wrong = await wrongOf(() => call(...before, make()), rejects);
      return wrong === undefined ? [] : [`argument ${place}, ${label}: ${wrong}`];
    }),
  );
  return (await Promise.all(calls)).flat();
}

type Functions = Readonly<Record<string, unknown>>;

const modules: Record<string, Functions> = {
  libfabric: root,
  'libfabric/directory': directory,
  'libfabric/efa': efa,
  'libfabric/http': http,
  'libfabric/net': net,
  'libfabric/objects': objects,
  'libfabric/softefa': softefa,
  'libfabric/transfer': transfer,
};

const NOT_CALLED = [
  // They change the process or the machine.
  ...['dumpOnSignal', 'removeSoftefa', 'setEfaVariables', 'loadSoftefa'],
];

const isClass = (value: unknown) => /^class\b/.test(String(value));

const functions = Object.entries(modules).flatMap(([module, exports]) =>
  Object.entries(exports)
    .filter(
      ([name, value]) =>
        typeof value === 'function' && !isClass(value) && !NOT_CALLED.includes(name),
    )
    .map(([name, value]) => [`${name}() of ${module}`, value as Call] as const),
);

interface Made {
  on?(event: 'error', listener: () => void): Made;
  destroy?(): unknown;
  close?(): unknown;
}

/** Calls a function, and closes what it opens. */
const closing =
  (call: Call): Call =>
  async (...args) => {
    const made = call(...args) as Made | undefined;
    if (made?.destroy) made.on?.('error', () => {}).destroy?.();
    else await ((await made) as Made | undefined)?.close?.();
  };

describe('a function that the package exports', () => {
  test.each(functions)('%s', async (_name, call) => {
    const rejects = functionsWithPromises.has(/^\w+/.exec(_name)?.[0] ?? '');
    const length = Math.min(PLACES, call.length || 1);
    expect(await wrongCalls(rejects ? call : closing(call), [], length, rejects)).toEqual([]);
  });
});

const constructors: [string, Call][] = [
  ['StoredDirectory', (...args) => new directory.StoredDirectory(...(args as never as [never]))],
  ['FolderDirectory', (...args) => new directory.FolderDirectory(...(args as ['']))],
  ['EtcdDirectory', (...args) => new directory.EtcdDirectory(...(args as never as [never]))],
  ['RedisDirectory', (...args) => new directory.RedisDirectory(...(args as never as [never]))],
  [
    'KubernetesDirectory',
    (...args) => new directory.KubernetesDirectory(...(args as never as [never])),
  ],
  ['FabricAgent', (...args) => new net.FabricAgent(...(args as []))],
  ['FabricSocket', (...args) => new net.FabricSocket(...(args as []))],
  ['MessageSocket', (...args) => new net.MessageSocket(...(args as []))],
  ['ObjectClient', (...args) => new objects.ObjectClient(...(args as ['']))],
  ['SoftefaFaults', (...args) => new softefa.SoftefaFaults(...(args as []))],
  ['Fabric.open', closing((...args) => root.Fabric.open(...(args as never as [never])))],
  ['TransferEngine.open', closing((...args) => transfer.TransferEngine.open(...(args as [])))],
];

describe('a constructor', () => {
  test.each(constructors)('%s', async (_name, call) => {
    expect(await wrongCalls(call, [], 1)).toEqual([]);
  });
});

const TCP = { provider: 'tcp', node: '127.0.0.1' };

/** Objects of each class, and valid arguments of methods whose later arguments would not be reached without. */
async function subjects() {
  const ep = await root.open({ provider: 'shm', caps: ['FI_MSG', 'FI_RMA'] });
  const fabric = root.Fabric.open(ep.info);
  const region = await ep.domain.allocate(64, ['FI_SEND', 'FI_RECV', 'FI_REMOTE_WRITE']);
  const [a, b] = [await transfer.TransferEngine.open(TCP), await transfer.TransferEngine.open(TCP)];
  const [toB, toA] = [await a.peer(b.address), await b.peer(a.address)];
  const [mine, theirs] = [await a.allocate(4096), await b.allocate(4096)];
  const offer = await theirs.offer({ access: 'write', to: toA });
  const pool = a.pool({ size: 4096, count: 2 });
  const request = { headers: { 'x-libfabric-address': b.address }, socket: new EventEmitter() };
  const response = { setHeader: () => {} };
  const messages = new net.MessageSocket({ engine: a });
  messages.on('error', () => {});
  const store = new objects.ObjectClient('http://127.0.0.1:1/b');
  const url = 'http://127.0.0.1:1/';
  const transferServer = http.transferServer(a as never);
  const listed = new directory.StoredDirectory({
    name: 'nowhere',
    put: async () => {},
    remove: async () => {},
    list: async () => [],
    close() {},
  });
  const all: [object, Record<string, readonly unknown[]>][] = [
    [fabric, {}],
    [ep.domain, { allocate: [64, ['FI_SEND']], register: [new Uint8Array(64), ['FI_SEND']] }],
    [ep.av, {}],
    [ep.receiveQueue, {}],
    [region, {}],
    [region.slice(0, 8), {}],
    [ep.domain.remote(region.descriptor()), {}],
    [a, { peer: [b.address], allocate: [4096], register: [new Uint8Array(64)], group: [[toB]] }],
    [toB, { write: [mine, offer.token], read: [offer.token, mine], notify: [new Uint8Array(8)] }],
    [mine, { slice: [0, 8], offer: [{ access: 'read', to: toB }] }],
    [mine.slice(0, 8), { slice: [0, 8] }],
    [offer, {}],
    [pool, { acquire: [64] }],
    [await pool.acquire(64), {}],
    [a.group([toB]), {}],
    [transferServer, { attach: [createServer()], clientOf: [request, response] }],
    [
      Object.setPrototypeOf({ handler: transferServer.handler }, { handler: null }),
      { handler: [request, response] },
    ],
    [
      http.transferClient(a as never, (async () => throwing()) as unknown as typeof fetch),
      { fetch: [url], received: [url] },
    ],
    [listed, { publish: ['a', { id: 'a', address: 'a' }], withdraw: ['a'], watch: ['a'] }],
    [messages, { sendFrom: [mine], receiveInto: [mine] }],
    [
      store,
      {
        get: ['a'],
        put: ['a', 'x'],
        lease: ['a', pool],
        stream: ['a'],
        head: ['a'],
        delete: ['a'],
      },
    ],
  ];
  const close = async () => {
    await Promise.all([
      ep.close(),
      fabric.close(),
      a.close(),
      b.close(),
      store.close(),
      listed.close(),
    ]);
    messages.destroy();
  };
  return { all, close };
}

// Methods that end their object run last.
const isEnd = (name: string) => /^(close|destroy|end|release|\[Symbol)/.test(name);

describe('the public methods of an object', () => {
  let opened: Awaited<ReturnType<typeof subjects>>;

  beforeAll(async () => {
    opened = await subjects();
  });

  afterAll(() => opened.close());

  test('refuse wrong values with a code', async () => {
    const wrong: string[] = [];
    let called = 0;
    let promising = 0;
    const ends: [object, string][] = [];
    for (const [object, valid] of opened.all) {
      const { name } = object.constructor;
      const methods = name === 'Object' ? Object.keys(object) : methodsOf(object);
      expect(methods.length, name).toBeGreaterThan(0);
      for (const method of methods) {
        if (isEnd(method)) {
          ends.push([object, method]);
          continue;
        }
        called += 1;
        const call = (object as Record<string, Call>)[method]!.bind(object);
        const rejects = returnsPromise(object, method);
        if (rejects) promising += 1;
        for (const text of await wrongCalls(call, valid[method], PLACES, rejects))
          wrong.push(`${name}.${method}(): ${text}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(called).toBeGreaterThan(60);
    expect(promising).toBeGreaterThan(30);
    for (const [object, method] of ends.filter(([, name]) => !name.startsWith('['))) {
      const call = (object as Record<string, Call>)[method]!.bind(object);
      for (const text of await wrongCalls(call))
        wrong.push(`${object.constructor.name}.${method}(): ${text}`);
    }
    expect(wrong).toEqual([]);
  });
});
