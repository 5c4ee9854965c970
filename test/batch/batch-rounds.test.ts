// A batch that one call runs many times: submit({ times }) and run({ times }).
import { describe, expect, type TestContext, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { everywhere, longCombinations, slow } from '../support/cases.js';
import { runCleanly } from '../support/lifecycle.js';
import { HANG_MS } from '../support/limits.js';
import { common } from '../support/providers.js';
import { endpoint, fabricError, idle, Pair, pair } from '../support/transfer.js';

const CAPS = ['FI_MSG', 'FI_TAGGED', 'FI_RMA'] as const;

describe.each(everywhere)('%s, %s driver: submit()', (provider, driver) => {
  const opened = async (context: TestContext) => {
    const wire = await pair(context, provider, CAPS, driver);
    return { ...wire, done: wire.done.bind(wire), fails: wire.fails.bind(wire) };
  };

  test('two batches exchange messages `times` times', async (context) => {
    const { a, b, toA, toB, done } = await opened(context);
    const times = 500;
    const into = new Uint8Array(100);
    const client = a.batch();
    client.recv(into);
    client.send(pattern(100, 1), toB);
    const server = b.batch();
    server.recv(new Uint8Array(100));
    server.send(pattern(100, 2), toA);
    const before = a.domain.stats().operations;
    const rounds = await done(Promise.all([client.submit({ times }), server.submit({ times })]));
    expect(rounds).toEqual([times, times]);
    expect([client.inFlight, server.inFlight]).toEqual([0, 0]);
    expect(a.domain.stats().operations - before).toBeGreaterThanOrEqual(2 * times);
    expectBytes(into, pattern(100, 2));
    expect(await done(Promise.all([client.submit(), server.submit()]))).toEqual([
      undefined,
      undefined,
    ]);
  });

  test('a round begins when the previous one has completed, and its tags are incremented', async (context) => {
    const { a, b, toB, done } = await opened(context);
    const sending = a.batch();
    const first = sending.tsend(new Uint8Array(8), toB, 1000n);
    sending.update(first, { tagStep: 1 });
    const targets = Array.from({ length: 20 }, (_, i) =>
      b.trecv(new Uint8Array(8), null, 1000n + BigInt(i)),
    );
    await done(Promise.all([sending.submit({ times: targets.length }), ...targets]));
  });

  test('rounds of injected messages run one after the other', async (context) => {
    const { a, b, toB, done } = await opened(context);
    const times = 300;
    const sending = a.batch();
    sending.inject(pattern(8), toB);
    const receiving = b.batch();
    receiving.recv(new Uint8Array(8));
    const rounds = [sending.submit({ times }), receiving.submit({ times })];
    expect(await done(Promise.all(rounds))).toEqual([times, times]);
  });

  test('a signal ends the rounds after the posted one', async (context) => {
    const { a, b, toB, done, fails } = await opened(context);
    const region = await b.domain.allocate(64, ['FI_REMOTE_WRITE']);
    const batch = a.batch();
    batch.write(pattern(64), toB, a.domain.remote(region.descriptor()));
    const end = new AbortController();
    const { operations } = a.domain.stats();
    const submitted = batch.submit({ times: Number.MAX_SAFE_INTEGER, signal: end.signal });
    const failed = fails(submitted);
    const several = async () => {
      while (a.domain.stats().operations < operations + 10) await new Promise(setImmediate);
    };
    await done(several());
    end.abort(new Error('enough'));
    expect(await failed).toEqual(new Error('enough'));
    await done(idle(batch));
    expect(await done(batch.submit({ times: 3 }))).toBe(3);
  });

  test('closing the endpoint ends the rounds', async (context) => {
    if (provider === 'net')
      context.skip('net crashes when an endpoint closes with a write in flight');
    const { a, b, toB, done } = await opened(context);
    const region = await b.domain.allocate(64, ['FI_REMOTE_WRITE']);
    const batch = a.batch();
    batch.write(pattern(64), toB, a.domain.remote(region.descriptor()));
    const ended = batch.submit({ times: Number.MAX_SAFE_INTEGER }).catch(({ code }) => code);
    await done(a.close());
    expect(await ended).toBe('FI_ECANCELED');
  });
});

describe.each(common)('%s: run()', (provider) => {
  /** Opens one endpoint with the manual driver and one with the thread driver. */
  const opened = async (context: TestContext) => {
    const a = await endpoint(context, provider, CAPS, 'manual');
    const wire = new Pair<'FI_EP_RDM', (typeof CAPS)[number]>(
      a,
      await endpoint(context, provider, CAPS, 'thread'),
    );
    const region = await wire.b.domain.allocate(4096, ['FI_REMOTE_WRITE']);
    const batch = a.batch();
    batch.write(pattern(64), wire.toB, a.domain.remote(region.descriptor()));
    await wire.done(batch.submit());
    return { ...wire, batch, done: wire.done.bind(wire) };
  };

  test('run({ times, samples, every }) runs the rounds and samples the time of every k-th', async (context) => {
    const { a, batch } = await opened(context);
    const samples = new Float64Array(100).fill(-1);
    const { operations } = a.domain.stats();
    const start = performance.now();
    expect(batch.run({ times: 1000, samples, every: 16 })).toBe(1000);
    const took = performance.now() - start;
    expect(a.domain.stats().operations - operations).toBe(1000);
    const taken = samples.subarray(0, 63);
    expect(taken.every((time) => time > 0)).toBe(true);
    expect(taken.reduce((sum, time) => sum + time)).toBeLessThan(took);
    expect(samples.subarray(63).every((time) => time === -1)).toBe(true);
    expect(batch.run()).toBe(1);
    expect(batch.run({ timeout: 5000 })).toBe(1);
  });

  test('sampling ends when samples is full', async (context) => {
    const { batch } = await opened(context);
    const samples = new Float64Array(7);
    expect(batch.run({ times: 100, samples })).toBe(100);
    expect(samples.every((time) => time > 0)).toBe(true);
  });

  test('no round begins after the duration', async (context) => {
    const { batch } = await opened(context);
    const start = performance.now();
    const rounds = batch.run({ duration: 300 });
    const took = performance.now() - start;
    expect(rounds).toBeGreaterThan(1);
    expect(took).toBeGreaterThanOrEqual(300);
    expect(took).toBeLessThan(HANG_MS);
    expect(batch.run({ times: 5, duration: 10_000 })).toBe(5);
    expect(batch.run({ duration: 0 })).toBe(1);
  });

  test('a round that exceeds the timeout is the last; resume() completes it', async (context) => {
    const { a, b, toA, done } = await opened(context);
    const receiving = a.batch();
    receiving.recv(new Uint8Array(8));
    await done(Promise.all([b.send(pattern(8), toA), b.send(pattern(8), toA)]));
    expect(() => receiving.run({ times: 10, timeout: 200 })).toThrow(
      expect.objectContaining({ code: 'FI_ETIMEDOUT' }),
    );
    expect(receiving.inFlight).toBe(1);
    b.send(pattern(8), toA).catch(() => {});
    receiving.resume();
    expect(receiving.inFlight).toBe(0);
    expect(a.domain.stats().operations).toBeGreaterThanOrEqual(3);
  });

  test('the timeout applies to each round, not to all', async (context) => {
    const { batch } = await opened(context);
    const started = performance.now();
    batch.run({ duration: 800, timeout: 700 });
    expect(performance.now() - started).toBeGreaterThanOrEqual(800);
  });
});

test('rounds do not block the event loop', async (context) => {
  const wire = await pair(context, 'tcp;ofi_rxm', CAPS, 'thread');
  const region = await wire.b.domain.allocate(64, ['FI_REMOTE_WRITE']);
  const batch = wire.a.batch();
  batch.write(pattern(64), wire.toB, wire.a.domain.remote(region.descriptor()));
  const samples = new Float64Array(10);
  const rounds = batch.submit({ duration: 200, samples, every: 2 });
  let turns = 0;
  const ended = rounds.then(() => true);
  while (!(await Promise.race([ended, new Promise((next) => setImmediate(next, false))]))) turns++;
  expect(turns).toBeGreaterThan(10);
  expect(await rounds).toBeGreaterThan(10);
  expect(samples.every((time) => time > 0)).toBe(true);
});

if (slow)
  test.for(longCombinations)(
    '$provider, $driver driver: workers and the process can end during rounds',
    async ({ provider, driver }) => {
      await runCleanly('rounds-terminated', [provider, driver], { stdout: 'running' });
    },
  );

describe('submit() and run() refuse', () => {
  test.each([
    [{ times: 0 }, 'ERR_OUT_OF_RANGE', 'options.times'],
    [{ times: 1.5 }, 'ERR_OUT_OF_RANGE', 'options.times'],
    [{ times: '3' }, 'ERR_INVALID_ARG_TYPE', 'options.times'],
    [{ duration: -1 }, 'ERR_OUT_OF_RANGE', 'options.duration'],
    [{ every: 2 }, 'ERR_INVALID_ARG_VALUE', 'needs options.samples'],
    [{ samples: new Float64Array(1), every: 0 }, 'ERR_OUT_OF_RANGE', 'options.every'],
    [{ samples: new Uint8Array(8) }, 'ERR_INVALID_ARG_TYPE', 'a Float64Array'],
    [{ samples: [] }, 'ERR_INVALID_ARG_TYPE', 'a Float64Array'],
  ])('%o', async (options, code, text) => {
    const { open } = await import('libfabric');
    await using ep = await open({ provider: 'tcp;ofi_rxm', node: '127.0.0.1', driver: 'manual' });
    const batch = ep.batch();
    batch.recv(new Uint8Array(8));
    const refused = expect.objectContaining({ code, message: expect.stringContaining(text) });
    await expect(batch.submit(options as never)).rejects.toEqual(refused);
    expect(() => batch.run(options as never)).toThrow(refused);
    expect(batch.inFlight).toBe(0);
  });

  test('samples while the batch is in flight', async (context) => {
    const ep = await endpoint(context, 'tcp;ofi_rxm', ['FI_MSG']);
    const batch = ep.batch();
    batch.recv(new Uint8Array(8));
    const first = expect(batch.submit()).rejects.toEqual(fabricError('FI_ECANCELED'));
    await expect(batch.submit({ samples: new Float64Array(1) })).rejects.toMatchObject({
      code: 'ERR_INVALID_STATE',
    });
    await ep.close();
    await first;
  });
});
