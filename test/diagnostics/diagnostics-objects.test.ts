// The output of console.log(), JSON.stringify() and structuredClone() for an object of each class that the package
// exports.
import '../support/softefa.js';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { MessageChannel, Worker } from 'node:worker_threads';
import { Fabric, FabricError, type getInfo, open } from 'libfabric';
import { CudaError, CudaMemory } from 'libfabric/cuda';
import {
  EtcdDirectory,
  FolderDirectory,
  KubernetesDirectory,
  RedisDirectory,
  StoredDirectory,
} from 'libfabric/directory';
import { transferClient, transferServer } from 'libfabric/http';
import { NeuronError, NeuronMemory } from 'libfabric/neuron';
import { createObjectServer, ObjectClient } from 'libfabric/objects';
import { SoftefaFaults } from 'libfabric/softefa';
import { TransferEngine, TransferError } from 'libfabric/transfer';
import { devices, VerbsError } from 'libfabric/verbs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exportRange } from '../../dist/accelerator/dmabuf.js';
import { allocateOn } from '../../dist/accelerator/memory.js';
import { Model } from '../../scripts/reference/model.mjs';
import { slow } from '../support/cases.js';

const SECRET = 'what nobody may read';

interface Row {
  readonly object: object;
  /** Closes the object. Its text then contains this word. */
  readonly close?: readonly [word: string, close: () => unknown];
  /** The text of the error of structuredClone(). Undefined for values that can be cloned. */
  readonly advice?: RegExp;
}

const failure = { result: 2, code: 'OUT_OF_MEMORY', text: 'no memory', syscall: 'allocate' };

// Memory of an accelerator, without an accelerator.
const addon = {
  allocate: () => ({ handle: {}, pointer: 4096n }),
  exportDmabuf: () => ({ handle: {}, fd: 99, offset: 0 }),
  isInUse: () => false,
  free() {},
  closeDmabuf() {},
};
const call = ((use: (to: typeof addon) => unknown) => use(addon)) as never;
const allocated = (name: string) => allocateOn({ name, call, exportDmabuf: call }, 64, {}) as never;

/** An object of each class. Those that others belong to come after them. */
async function makeRows(): Promise<Record<string, Row>> {
  const ep = await open({
    provider: 'shm',
    caps: ['FI_MSG', 'FI_TAGGED', 'FI_RMA', 'FI_MULTI_RECV', 'FI_SOURCE'],
    counters: { sends: ['FI_SEND'] },
  });
  const efa = await open({ provider: 'efa' });
  const { domain, av, receiveQueue: cq } = ep;
  const peer = av.insert(ep.address);
  const region = await domain.allocate(4096, ['FI_SEND', 'FI_REMOTE_WRITE']);
  const remote = domain.remote(region.descriptor());
  const batch = ep.batch();
  const received = ep.trecv(new Uint8Array(8), null, 2n ** 63n);
  await ep.tsend(new Uint8Array(3), peer, 2n ** 63n);
  const [messages, multiRecv] = [ep.messages(), ep.multiRecv(new Uint8Array(65_536))];
  const immediates = cq.immediates();
  const fabric = Fabric.open(ep.info);
  const { a, b, toA, toB } = await engines();
  const memory = await a.allocate(8192);
  const offer = await memory.offer({ access: 'write', to: toB });
  const used = await memory.offer({ access: 'write', to: toB });
  const transfer = toA.write(await b.register(new Uint8Array(8192)), used.token);
  const faults = new SoftefaFaults();
  const dmabuf = exportRange(call, { pointer: 4096n, byteLength: 64, device: 0 });
  const details = { peer, tag: 2n ** 63n, data: 7n, errData: Uint8Array.of(1, 255) };
  const row = (object: object | undefined, advice: RegExp, close?: Row['close']): Row => ({
    object: object as object,
    advice,
    ...(close && { close }),
  });
  const memoryOf = (Class: new (from: never) => { free(): void }) => {
    const memory = new Class(allocated(Class.name));
    return row(memory, /\{ type, pointer, byteLength, device \}/, ['freed', () => memory.free()]);
  };
  const directory = new StoredDirectory({
    name: 'nothing',
    put: async () => {},
    remove: async () => {},
    list: async () => [],
    close() {},
  });
  const directoryOf = (directory: StoredDirectory) =>
    row(directory, /make another/, ['closed', () => directory.close()]);
  const errorOf = (Class: unknown) => ({ object: new (Class as ErrorClass)(failure) });
  const part = memory.pages({ indices: [1, 0], size: 4096 });
  const pool = a.pool({ size: 4096, count: 2 });
  const lease = await pool.acquire();
  const server = await createObjectServer(mkdtempSync(join(tmpdir(), 'objects-')));
  const client = new ObjectClient(`${await server.listen()}/bucket`);
  return {
    Info: { object: ep.info },
    Completion: row(await received, /\{ length, tag, data, flags \}/),
    Messages: row(messages, /the bytes/, ['ended', () => messages.return()]),
    MultiRecv: row(multiRecv, /the bytes/, ['released', () => multiRecv.return()]),
    Immediates: row(immediates, /\{ data, length \}/, ['ended', () => immediates.return()]),
    Peer: row(peer, /send av\.lookup\(peer\)/, ['removed', () => av.remove(peer)]),
    RegionSlice: row(region.slice(8, 24), /region\.descriptor\(\)/, [
      'closed',
      () => region.close(),
    ]),
    MemoryRegion: row(region, /region\.descriptor\(\)/, ['closed', () => region.close()]),
    RemoteRegion: row(remote, /\{ key, address, length \}/, ['closed', () => remote.close()]),
    BatchBase: row(batch, /a Batch /, ['closed', () => batch.close()]),
    QueuedCalls: row(ep.post, /endpoint\.address/, ['closed', () => ep.close()]),
    EndpointBase: row(ep, /an Endpoint .*endpoint\.address/, ['closed', () => ep.close()]),
    AddressVector: row(av, /av\.lookup\(peer\)/, ['closed', () => av.close()]),
    CompletionQueue: row(cq, /open another/, ['closed', () => cq.close()]),
    Counter: row(ep.counters.sends, /counter\.read\(\)/, ['closed', () => domain.close()]),
    Domain: row(domain, /open another/, ['closed', () => domain.close()]),
    Fabric: row(fabric, /open another/, ['closed', () => fabric.close()]),
    EfaQueries: row(efa.domain.efa, /domain\.efa/, ['closed', () => efa.close()]),
    FabricError: { object: new FabricError(265, 'fi_cq_readerr', details) },
    TransferError: { object: new TransferError(110, true, { ...details, detail: 'late' }) },
    VerbsError: { object: new VerbsError(13, 'ibv_open_device', 'Permission denied') },
    Transfer: row(transfer, /the report/, ['ended', () => transfer]),
    Grant: row(toA.grant(offer.token), /the token/),
    Offer: row(offer, /send offer\.token/, ['closed', () => offer.close()]),
    MemoryPart: row(part, /part\.offer\(\)/, ['closed', () => memory.close()]),
    MemoryLease: row(lease, /part\.offer\(\)/, ['closed', () => lease.release()]),
    MemoryPool: row(pool, /make one on each engine/, ['closed', () => pool.close()]),
    TransferMemory: row(memory, /memory\.offer\(\)/, ['closed', () => memory.close()]),
    TransferServer: row(transferServer(a), /make one on each thread/),
    TransferClient: row(transferClient(a), /make one on each thread/),
    Membership: row(await a.join(directory, 'engines'), /join/, ['closed', () => a.close()]),
    StoredDirectory: directoryOf(directory),
    FolderDirectory: directoryOf(new FolderDirectory('/none')),
    EtcdDirectory: directoryOf(new EtcdDirectory({ endpoints: `http://user:${SECRET}@10.0.0.2` })),
    RedisDirectory: directoryOf(new RedisDirectory({ url: `redis://user:${SECRET}@10.0.0.2` })),
    KubernetesDirectory: directoryOf(new KubernetesDirectory({ service: 'engines', port: 1 })),
    Group: row(a.group([toB]), /the addresses/),
    RemoteEngine: row(toB, /the address/, ['closed', () => toB.close()]),
    TransferEngine: row(a, /send engine\.address/, [
      'closed',
      () => Promise.all([a.close(), b.close()]),
    ]),
    Fault: row(faults.add('status', { node: 0xfffe, count: 3 }), /hits, left/),
    SoftefaFaults: row(faults, /make another/, ['closed', () => faults.close()]),
    Dmabuf: row(dmabuf, /fd, offset/, ['closed', () => dmabuf.close()]),
    CudaMemory: memoryOf(CudaMemory),
    NeuronMemory: memoryOf(NeuronMemory),
    ObjectServer: row(server, /server\.url/, ['closed', () => server.close()]),
    ObjectClient: row(client, /another one/, ['closed', () => client.close()]),
    ObjectError: { object: await client.get('key').catch((error) => error) },
    CudaError: errorOf(CudaError),
    NeuronError: errorOf(NeuronError),
  };
}

type ErrorClass = new (failure: object) => Error;

async function engines() {
  const options = { provider: 'tcp', node: '127.0.0.1', secret: SECRET } as const;
  const [a, b] = [await TransferEngine.open(options), await TransferEngine.open(options)];
  return { a, b, toB: await a.peer(b.address), toA: await b.peer(a.address) };
}

const ABSTRACT = ['AcceleratorError', 'AcceleratorMemory', 'RegisteredBytes'];
// An iterator, of which console.log() shows no more than of other iterators.
const ITERATORS = ['Reader'];
// Streams, agents and emitters, which print as those of Node.js do.
const OF_NODE = ['FabricAgent', 'FabricServer', 'FabricSocket', 'MessageSocket'];
// Streams of Node.js, which print as the other objects do.
const STREAMS = ['IncomingStream', 'OutgoingStream', 'TransferReadable', 'TransferWritable'];
// Of objects that are no classes.
const MORE = ['Fault', 'Grant', 'Info'];
// The names that objects print, where they differ from those of their classes.
const PRINTED: Record<string, string> = {
  BatchBase: 'Batch',
  EndpointBase: 'Endpoint',
  QueuedCalls: 'Post',
};

let rows: Record<string, Row>;
const each = () => Object.entries(rows);
beforeAll(async () => {
  rows = await makeRows();
});

if (slow)
  test('the table has an object of each class that the package exports', () => {
    const root = fileURLToPath(new URL('../..', import.meta.url));
    const model = new Model(root, []);
    const classes = [...model.modules.values()].flatMap((symbols: Map<string, never>) =>
      [...symbols].filter(([, symbol]) => model.describe(symbol).kind === 'class'),
    );
    const names = new Set(
      classes
        .map(([name]) => name)
        .filter((name) => ![...ABSTRACT, ...ITERATORS, ...OF_NODE, ...STREAMS].includes(name)),
    );
    expect(Object.keys(rows).sort()).toEqual([...names, ...MORE].sort());
  });

const isError = ({ object }: Row) => object instanceof Error;

test('console.log() prints one short line, with the name of the class', () => {
  for (const [name, row] of each()) {
    if (isError(row)) continue;
    const { object } = row;
    const line = inspect(object);
    expect.soft(line, name).toMatch(new RegExp(`^${PRINTED[name] ?? name} \\{.*\\}$`));
    expect.soft(line.length, line).toBeLessThan(200);
    expect.soft(inspect({ in: [object] }, { breakLength: 1000 }), name).toContain(line);
    expect.soft(inspect(object, { depth: -1 }), name).toBe(`[${PRINTED[name] ?? name}]`);
  }
});

test('JSON.stringify() gives a few plain values, with bigints as digits', () => {
  for (const [name, { object }] of each()) {
    const text = JSON.stringify({ in: [object] });
    expect.soft(text.length, text).toBeLessThan(500);
    for (const value of Object.values(JSON.parse(text).in[0])) {
      expect.soft(value, `${name}: ${text}`).not.toBeNull();
    }
  }
  expect(JSON.parse(JSON.stringify(rows.FabricError))).toEqual({
    object: {
      code: 'FI_ETRUNC',
      errno: 265,
      syscall: 'fi_cq_readerr',
      message: (rows.FabricError!.object as Error).message,
      peer: { handle: expect.any(Number) },
      tag: String(2n ** 63n),
      data: '7',
      errData: '01ff',
    },
  });
  expect(JSON.stringify(rows.Completion!.object)).toContain(`"tag":"${2n ** 63n}"`);
});

test('neither shows a token, a secret, a key or bytes of memory', () => {
  const { token } = rows.Offer!.object as { token: string };
  const { key } = rows.MemoryRegion!.object as { key: bigint };
  const grant = rows.Grant!.object as { rails: readonly { key: bigint }[] };
  const secrets = [
    SECRET,
    token,
    String(key),
    String(grant.rails[0]!.key),
    'Uint8Array',
    'External',
  ];
  for (const [name, row] of each()) {
    const shown = `${inspect(row.object)} ${JSON.stringify(row.object)}`;
    if (isError(row)) continue;
    for (const secret of secrets) expect.soft(shown, name).not.toContain(secret);
  }
});

test('JSON.stringify() takes what devices() returns, with bigints as digits', () => {
  const [device] = devices();
  const { limits, efa } = device!;
  const parsed = JSON.parse(JSON.stringify(device));
  expect(parsed.limits).toEqual({
    ...limits,
    maxMrSize: String(limits!.maxMrSize),
    pageSizeCap: String(limits!.pageSizeCap),
  });
  expect(parsed.efa).toEqual({ ...efa, compMask: String(efa!.compMask) });
  expect(Object.keys(limits!)).not.toContain('toJSON');
});

describe('structuredClone() and its kind', () => {
  const { port1 } = new MessageChannel();
  const worker = new Worker('require("node:worker_threads").parentPort.ref()', { eval: true });
  afterAll(() => {
    port1.close();
    return worker.terminate();
  });

  const clones: [string, (value: unknown) => unknown][] = [
    ['structuredClone()', (value) => structuredClone(value)],
    ['structuredClone() of an object that holds it', (value) => structuredClone({ of: [value] })],
    ['postMessage()', (value) => port1.postMessage(value)],
    ['postMessage() to a worker', (value) => worker.postMessage({ value })],
    ['v8.serialize()', (value) => deserialize(serialize(value))],
  ];
  test.each(clones)(
    '%s refuses objects that it cannot copy, and the error names what to send instead',
    (how, clone) => {
      for (const [name, row] of each()) {
        const { object, advice } = row;
        if (advice === undefined) {
          expect.soft(() => clone(object), name).not.toThrow();
          continue;
        }
        let error: unknown;
        try {
          clone(object);
        } catch (caught) {
          error = caught;
        }
        const expected = how === 'v8.serialize()' ? 'Error' : 'DataCloneError';
        expect.soft(error, name).toHaveProperty('name', expected);
        expect.soft(error, name).toHaveProperty('message', expect.stringMatching(advice));
      }
    },
  );

  test('a copy of the properties is refused too', () => {
    for (const [name, { object, advice }] of each()) {
      if (advice === undefined) continue;
      expect.soft(() => structuredClone({ ...object }), name).toThrow(advice);
    }
  });

  test('the clone of an entry of getInfo() is data, with which nothing can be opened', () => {
    const info = structuredClone(rows.Info!.object) as ReturnType<typeof getInfo>[number];
    expect(info).toEqual(rows.Info!.object);
    expect(() => Fabric.open(info)).toThrow('an entry of getInfo()');
  });
});

test('an object that only inherits from a class shows nothing, and throws nothing', () => {
  for (const [name, row] of each()) {
    if (isError(row)) continue;
    const heir = Object.create(Object.getPrototypeOf(row.object));
    expect.soft(inspect(heir), name).toMatch(/^\w+ \{.*\}$/);
    expect.soft(() => JSON.stringify(heir), name).not.toThrow();
  }
});

test('the methods can be replaced, and are not enumerable', () => {
  for (const [name, { object }] of each()) {
    const own = Object.create(object, { toJSON: { value: () => 'mine', writable: true } });
    expect.soft(JSON.stringify(own), name).toBe('"mine"');
    for (const key in object) expect.soft(key, name).not.toBe('toJSON');
  }
});

// The last test: it closes all objects.
test('a closed object is shown as closed', async () => {
  for (const [name, { object, close }] of each()) {
    if (close === undefined || name === 'Transfer') continue; // the transfer has ended meanwhile
    expect.soft(inspect(object), name).not.toContain(`${close[0]}: true`);
  }
  for (const [, { close }] of each()) await close?.[1]();
  for (const [name, { object, close }] of each()) {
    if (close === undefined) continue;
    expect.soft(inspect(object), name).toContain(`${close[0]}: true`);
    expect.soft(JSON.parse(JSON.stringify(object)), name).toHaveProperty(close[0], true);
  }
});
