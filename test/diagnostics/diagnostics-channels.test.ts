// The messages that the package publishes on node:diagnostics_channel.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type DiagnosticsMessages, FabricError, open } from 'libfabric';
import { afterEach, expect, test } from 'vitest';
import '../support/softefa.js';
import { pair, pattern } from '../support/transfer.js';

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
    expect.arrayContaining([ep, ep.domain, ep.cq, ep.av]),
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
