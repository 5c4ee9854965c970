// The messages that the package publishes on node:diagnostics_channel.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type DiagnosticsMessages, type Fabric, FabricError, open } from 'libfabric';
import { TransferEngine } from 'libfabric/transfer';
import { afterEach, expect, test } from 'vitest';
import '../support/softefa.js';
import { pattern } from '../support/bytes.js';
import { enginePair } from '../support/engines.js';
import { pair } from '../support/transfer.js';

type Name = keyof DiagnosticsMessages;

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** Collects the messages of a channel. */
function messages<N extends Name>(name: N): DiagnosticsMessages[N][] {
  const seen: DiagnosticsMessages[N][] = [];
  const listener = (message: unknown) => seen.push(message as DiagnosticsMessages[N]);
  subscribe(name, listener);
  ends.push(() => unsubscribe(name, listener));
  return seen;
}

const types = (seen: readonly { type: string }[]) => seen.map(({ type }) => type);

test('opening and closing an object publishes a message with the object', async () => {
  const opened = messages('libfabric:open');
  const closed = messages('libfabric:close');
  const ep = await open({ provider: 'shm', caps: ['FI_MSG', 'FI_RMA'] });
  expect(types(opened)).toEqual([
    'fabric',
    'domain',
    'completionQueue',
    'addressVector',
    'endpoint',
  ]);
  expect(opened.map(({ object }) => object)).toEqual(
    expect.arrayContaining([ep, ep.domain, ep.receiveQueue, ep.av]),
  );
  const region = await ep.domain.allocate(4096, ['FI_REMOTE_READ']);
  expect(opened.at(-1)).toEqual({ type: 'memoryRegion', object: region });
  await region.close();
  expect(closed).toEqual([{ type: 'memoryRegion', object: region }]);
  await ep.close();
  expect(types(closed)).toEqual([
    'memoryRegion',
    'endpoint',
    'completionQueue',
    'domain',
    'fabric',
  ]);
});

test('a fabric of open() that a subscriber knows can be closed, with its endpoint', async () => {
  const opened = messages('libfabric:open');
  for (const both of [false, true]) {
    const ep = await open({ provider: 'shm', caps: ['FI_MSG'] });
    const fabric = opened.findLast(({ type }) => type === 'fabric')?.object as Fabric;
    await Promise.all([fabric.close(), ...(both ? [ep.close(), ep.domain.close()] : [])]);
    expect([fabric.closed, ep.domain.closed, ep.closed]).toEqual([true, true, true]);
  }
});

test('creating a FabricError publishes it', async (context) => {
  const errors = messages('libfabric:error');
  const wire = await pair(context, 'shm', ['FI_MSG']);
  const error = await wire.fails(wire.b.recv(new Uint8Array(8), null, { timeout: 1 }));
  expect(errors).toEqual([{ error }]);
  expect(errors[0]?.error).toBe(error);
  const made = new FabricError(5, 'fi_cq_read');
  expect(errors.at(-1)?.error).toBe(made);
  await wire.fails(open({ provider: 'nonesuch' }));
  expect(errors.at(-1)?.error).toMatchObject({ code: 'FI_ENODATA', hint: expect.any(String) });
});

test('the end of a stream publishes no error', async (context) => {
  const wire = await pair(context, 'shm', ['FI_MSG']);
  const errors = messages('libfabric:error');
  const stream = wire.b.messages({ count: 4, size: 64 });
  await wire.done(stream.return());
  expect(errors).toEqual([]);
});

test.each(['shm', 'tcp', 'efa'])(
  'transfers, offers and barriers that succeed publish no error, %s',
  async (provider) => {
    const errors = messages('libfabric:error');
    const { a, b, toA, toB } = await enginePair({ provider, nics: 1 });
    const from = await a.allocate(1 << 20);
    const into = await b.allocate(1 << 20);
    for (const access of ['write', 'read'] as const) {
      const offer = await into.offer({ access, to: toA });
      await (access === 'write' ? toB.write(from, offer.token) : toB.read(offer.token, from));
      await offer.arrived;
      await offer.released;
    }
    const repeated = await into.offer({ access: 'write', to: toA, repeat: true });
    const transfer = toB.write(from, repeated.token);
    for await (const _ of repeated) break;
    await transfer;
    await repeated.close();
    const closed = await into.offer({ access: 'write', to: toA });
    await Promise.all([toB.write(from, closed.token), closed.arrived]);
    await closed.close();
    await Promise.all([a.group([toB]).barrier(), b.group([toA]).barrier()]);
    await Promise.all([a.close(), b.close()]);
    expect(errors).toEqual([]);
  },
);

test('a transfer that fails publishes its error once, and a closed offer that nobody used its own', async () => {
  const errors = messages('libfabric:error');
  const { a, b, toA, toB } = await enginePair({ provider: 'tcp', nics: 1 });
  const from = await a.allocate(4096);
  const into = await b.allocate(4096);
  const offer = await into.offer({ access: 'write', to: toA, repeat: true });
  await offer.close();
  const ended = await offer.arrived.catch((error) => error);
  expect(errors).toEqual([{ error: ended }]);
  const failed = toB.write(from, offer.token, { timeout: 500 });
  const error = await failed.catch((reason) => reason);
  await failed.released;
  expect(errors).toEqual([{ error: ended }, { error }]);
});

test('an engine that finds no rail publishes one error', async () => {
  const errors = messages('libfabric:error');
  const opening = TransferEngine.open({ provider: 'nonesuch' });
  const error = await opening.catch((reason) => reason);
  expect(errors).toEqual([{ error }]);
});

test('back-pressure of the provider publishes a message with a count', async (context) => {
  const pressure = messages('libfabric:backpressure');
  const wire = await pair(context, 'shm', ['FI_MSG'], 'manual');
  const { a, b, toB } = wire;
  const count = 5000;
  const sends = Array.from({ length: count }, () => a.send(pattern(8), toB));
  await wire.done(
    Promise.all([...sends, ...Array.from({ length: count }, () => b.recv(new Uint8Array(8)))]),
  );
  const published = pressure.filter(({ by, times }) => by === 'provider' && times > 0);
  const times = published.reduce((sum, each) => sum + each.times, 0);
  const counted = a.domain.stats().backPressure + b.domain.stats().backPressure;
  expect(counted).toBeGreaterThan(0);
  expect(times).toBeLessThanOrEqual(counted);
  expect(published[0]).toMatchObject({ provider: 'shm', driver: 'manual' });
});

test.each(['thread', 'loop', 'manual'] as const)(
  'a subscriber of back-pressure may submit operations, %s driver',
  async (driver) => {
    const ep = await open({ provider: 'shm', caps: ['FI_MSG'], driver });
    const more: Promise<unknown>[] = [];
    const receive = () => ep.recv(new Uint8Array(8));
    const listener = () => {
      if (more.length < 100) more.push(receive());
    };
    subscribe('libfabric:backpressure', listener);
    ends.push(() => unsubscribe('libfabric:backpressure', listener));
    const receives = Array.from({ length: 20_000 }, receive);
    ends.pop()?.();
    const all = [...receives, ...more];
    const self = ep.av.insert(ep.address);
    const sends = all.map(() => ep.send(new Uint8Array(8), self));
    const outcomes = await ep.domain.until(Promise.allSettled([...all, ...sends]));
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
    await ep.close();
  },
);

test('a full submission ring publishes a message', async (context) => {
  const pressure = messages('libfabric:backpressure');
  const wire = await pair(context, 'shm', ['FI_MSG'], 'manual');
  // More operations than the ring holds, without progress of the engine.
  const received = Array.from({ length: 10_000 }, () => wire.b.recv(new Uint8Array(8)));
  expect(pressure).toContainEqual(expect.objectContaining({ by: 'ring', times: 1 }));
  const outcomes = Promise.allSettled(received);
  await wire.done(wire.b.close());
  await outcomes;
});
