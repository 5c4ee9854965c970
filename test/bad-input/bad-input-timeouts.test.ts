// Every timeout and interval takes milliseconds with fractions, and refuses the same values.
import '../support/softefa.js';
import { open } from 'libfabric';
import { softefaEnvironment } from 'libfabric/softefa';
import { TransferEngine } from 'libfabric/transfer';
import { counters, devices } from 'libfabric/verbs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refusalOf } from '../support/bad-input.js';

// biome-ignore lint/suspicious/noExplicitAny: the tests pass values that the types forbid
type Any = any;

const CAPS = ['FI_MSG', 'FI_RMA', 'FI_MULTI_RECV'] as const;
const TCP = { provider: 'tcp', node: '127.0.0.1', mapMemory: false } as const;

const openShm = (driver: 'loop' | 'manual') =>
  open({ provider: 'shm', driver, caps: CAPS, counters: { received: ['FI_RECV'] } });

let ep: Awaited<ReturnType<typeof openShm>>;
let manual: Awaited<ReturnType<typeof openShm>>;
let engines: Awaited<ReturnType<typeof enginesWithPlaces>>;

async function enginesWithPlaces() {
  const [a, b] = [await TransferEngine.open(TCP), await TransferEngine.open(TCP)];
  const [toB, toA] = [await a.peer(b.address), await b.peer(a.address)];
  const from = await a.register(new Uint8Array(64));
  const into = await b.register(new Uint8Array(64));
  const offer = await into.offer({ access: 'write', to: toA, repeat: true });
  const done = toB.write(from, offer.token);
  await done;
  return { a, b, toA, toB, from, into, token: offer.token, done };
}

beforeAll(async () => {
  ep = await openShm('loop');
  manual = await openShm('manual');
  engines = await enginesWithPlaces();
});
afterAll(() => Promise.all([ep.close(), manual.close(), engines.a.close(), engines.b.close()]));

const bytes = () => new Uint8Array(64);

/** A batch with a receive that no message completes. */
function batchOf(endpoint: typeof ep) {
  const batch = endpoint.batch();
  batch.recv(bytes());
  return batch;
}

async function openEngine(stall: Any) {
  const engine = await TransferEngine.open({ ...TCP, stall });
  await engine.close();
}

async function closeAnother(what: (endpoint: typeof ep) => unknown) {
  const another = await openShm('loop');
  try {
    await what(another);
  } finally {
    await another.close();
  }
}

const region = () => ep.domain.allocate(64, ['FI_RECV']);

// The name of each call's argument, and the least value that it takes.
const calls: [call: string, run: (milliseconds: Any) => unknown, name?: string, least?: number][] =
  [
    ['open()', async (timeout) => (await open({ provider: 'shm', timeout })).close()],
    ['endpoint.recv()', (timeout) => ep.recv(bytes(), null, { timeout })],
    ['endpoint.messages()', (timeout) => ep.messages({ timeout }).next()],
    ['endpoint.multiRecv()', (timeout) => ep.multiRecv(bytes(), { timeout }).next()],
    ['endpoint.close()', (timeout) => closeAnother((each) => each.close({ timeout }))],
    ['domain.close()', (timeout) => closeAnother(({ domain }) => domain.close({ timeout }))],
    ['domain.register()', (timeout) => ep.domain.register(bytes(), ['FI_RECV'], { timeout })],
    ['domain.allocate()', (timeout) => ep.domain.allocate(64, ['FI_RECV'], { timeout })],
    ['domain.wait()', (timeout) => manual.domain.wait(1, timeout), 'timeout'],
    ['region.close()', async (timeout) => (await region()).close({ timeout })],
    ['batch.submit()', (timeout) => batchOf(ep).submit({ timeout })],
    ['batch.run()', (timeout) => batchOf(manual).run({ timeout }), 'timeout'],
    ['batch.run(timeout)', (timeout) => batchOf(manual).run(timeout), 'timeout'],
    ['batch.resume()', (timeout) => batchOf(manual).resume(timeout), 'timeout'],
    ['duration of batch.submit()', (duration) => batchOf(ep).submit({ duration, timeout: 5 })],
    ['counter.wait()', (timeout) => ep.counters.received.wait(1000, { timeout })],
    ['cq.arrived()', (timeout) => ep.receiveQueue.arrived(1, 1, { timeout })],
    ['cq.immediates()', (timeout) => ep.receiveQueue.immediates({ timeout }).next()],
    ['av.insertMany()', (timeout) => ep.av.insertMany([ep.address], { timeout })],
    ['av.insertService()', (timeout) => ep.av.insertService('127.0.0.1', 1, { timeout })],
    ['av.remove()', (timeout) => ep.av.remove(ep.av.insert(ep.address), { timeout })],
    ['TransferEngine.open()', (stall) => openEngine(stall), 'options.stall', 1],
    [
      'memory.offer()',
      (expires) => engines.into.offer({ access: 'read', to: engines.toA, expires }),
    ],
    ['remote.write()', (timeout) => engines.toB.write(engines.from, engines.token, { timeout })],
    ['transfer.repeat()', (timeout) => engines.done.repeat({ timeout })],
    ['group.barrier()', (timeout) => engines.a.group([engines.toB]).barrier({ timeout })],
    ['counters.watch()', (interval) => watch(interval), 'options.interval', 1],
    ['softefaEnvironment()', (timeout) => softefaEnvironment({ timeout }), 'options.timeout', 1],
  ];

async function watch(interval: Any) {
  const [device] = devices();
  await counters.watch(device!.name, { interval }).next();
}

describe.each(calls)('%s', (_call, run, name = 'options.', least = 0) => {
  test.each([least, least + 0.5, 2.5])('takes %s milliseconds', async (milliseconds) => {
    const { how, error } = await refusalOf(() => run(milliseconds));
    // Some calls have ended before, and some are refused by the peer.
    if (how !== 'accepted') expect(error).toHaveProperty('code', expect.stringMatching(/^FI_/));
  });

  test.each([least - 0.5, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31])(
    'refuses %s',
    async (milliseconds) => {
      const { error } = await refusalOf(() => run(milliseconds));
      expect(error).toMatchObject({ name: 'RangeError', code: 'ERR_OUT_OF_RANGE' });
      expect(error.message).toContain(name);
      expect(error.message).toContain(`from ${least} to `);
    },
  );

  test.each(['5', null, 5n, true])('refuses a value of another type: %s', async (milliseconds) => {
    const { error } = await refusalOf(() => run(milliseconds));
    expect(error).toMatchObject({ name: 'TypeError' });
    expect(error.code).toMatch(/^ERR_INVALID_ARG/);
  });
});
