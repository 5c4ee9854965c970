// tracingChannel('libfabric:transfer'): the events of transfers, in the async context of their calls.
import '../support/softefa.js';
import { AsyncLocalStorage } from 'node:async_hooks';
import { tracingChannel } from 'node:diagnostics_channel';
import { setImmediate as turn } from 'node:timers/promises';
import type { Transfer, TransferEngineOptions, TransferTraceMessage } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { enginePair } from '../support/engines.js';
import { block } from '../support/event-loop.js';
import { FAILS, record, SUCCEEDS } from '../support/traces.js';

const SIZE = 1 << 20;
const CHANNEL = 'libfabric:transfer';

async function sides(options: TransferEngineOptions) {
  const { a, b, toA, toB } = await enginePair(options);
  const from = await a.allocate(SIZE);
  const into = await b.allocate(SIZE);
  const { token } = await into.offer({ access: 'write', to: toA, repeat: true });
  return { a, b, toA, toB, from, into, token };
}

const providers = casesOf(['shm', 'tcp', 'efa'], (provider) => provider === 'efa');

describe.each(providers)('%s', (provider) => {
  const options = { provider, nics: 1, stall: 60_000 };

  test('the events of a transfer have one message, and come around the call and before its promise', async () => {
    const { traces } = record<TransferTraceMessage>(CHANNEL);
    const { a, b, toA, toB, from, into, token } = await sides(options);
    const transfer = toB.write(from, token);
    const about = { engine: a, peer: b.id, bytes: SIZE };
    expect(traces).toHaveLength(1);
    expect(traces[0]?.events).toEqual(['start', 'end']);
    expect(traces[0]?.message).toEqual({ ...about, transfer, access: 'write' });
    const result = await transfer;
    expect(traces[0]?.events).toEqual(SUCCEEDS);
    expect(traces[0]?.message).toEqual({ ...about, transfer, access: 'write', result });
    const { token: readable } = await into.offer({ access: 'read', to: toA });
    const read = toB.read(readable, from.slice(0, 100));
    await read;
    expect(traces[1]?.message).toMatchObject({ transfer: read, access: 'read', bytes: 100 });
    expect(traces.map(({ events }) => events)).toEqual([SUCCEEDS, SUCCEEDS]);
  });

  test('all events see the async context of the call, however the transfer ends', async () => {
    const { storage, traces, eventsOf } = record<TransferTraceMessage>(CHANNEL);
    const { a, toA, toB, from, into, token } = await sides({ ...options, maxTransfers: 1 });
    const write = (name: string, limits: { signal?: AbortSignal; timeout?: number } = {}) =>
      storage.run(name, () => toB.write(from, token, limits));
    const outcome = (transfer: Transfer) => transfer.then(() => 'done').catch(({ code }) => code);

    const first = write('first');
    const waiting = write('waiting');
    const aborting = new AbortController();
    const aborted = write('aborted', { signal: aborting.signal });
    storage.run('another', () => aborting.abort());
    const scattered = storage.run('scattered', () => a.group([toB]).scatter([{ from, token }]));
    expect(await Promise.all([first, waiting, aborted].map(outcome))).toEqual([
      ...['done', 'done', 20],
    ]);
    await scattered;
    const repeated = storage.run('repeated', () => first.repeat());
    await repeated;

    await turn();
    const late = write('late', { timeout: 1 });
    const lateInQueue = write('late in the queue', { timeout: 1 });
    block(50); // the timers are due, but what has arrived meanwhile counts
    const ends = await Promise.all([late, lateInQueue].map(outcome));
    for (const end of ends) expect(['done', 'FI_ETIMEDOUT']).toContain(end);
    await late.released;

    const once = await into.offer({ access: 'write', to: toA });
    const single = toB.write(from, once.token);
    await single;
    const again = storage.run('again', () => single.repeat());
    expect(await outcome(again)).toBe('FI_EALREADY');

    const running = write('running');
    const closed = write('closed');
    await storage.run('another', () => Promise.all([a.close(), outcome(running)]));
    expect(await outcome(closed)).toBe('FI_ECANCELED');

    for (const name of ['first', 'waiting', 'scattered', 'repeated'])
      expect([name, ...eventsOf(name)]).toEqual([name, ...SUCCEEDS]);
    for (const [i, name] of ['late', 'late in the queue'].entries())
      expect([name, ...eventsOf(name)]).toEqual([name, ...(ends[i] === 'done' ? SUCCEEDS : FAILS)]);
    for (const name of ['aborted', 'again', 'closed'])
      expect([name, ...eventsOf(name)]).toEqual([name, ...FAILS]);
    expect(eventsOf('another')).toEqual([]);
    const failed = traces.find(({ message }) => message.transfer === again);
    expect(failed?.message.error).toMatchObject({ code: 'FI_EALREADY' });
    expect(failed?.message.result).toBeUndefined();
  });
});

const tcp = { provider: 'tcp', node: '127.0.0.1', nics: 1 };

test('stores that are bound to the start and to the settling apply to the events after them', async () => {
  const [calls, ends] = [new AsyncLocalStorage<bigint>(), new AsyncLocalStorage<string>()];
  const { start, end, asyncStart, asyncEnd } = tracingChannel<unknown, TransferTraceMessage>(
    CHANNEL,
  );
  let number = 0n;
  start.bindStore(calls, () => ++number);
  asyncStart.bindStore(ends, ({ result }) => `${result?.byteLength}`);
  const seen: unknown[] = [];
  const listener = () => seen.push([calls.getStore(), ends.getStore()]);
  end.subscribe(listener);
  asyncEnd.subscribe(listener);
  onTestFinished(() => {
    start.unbindStore(calls);
    asyncStart.unbindStore(ends);
    end.unsubscribe(listener);
    asyncEnd.unsubscribe(listener);
  });
  const { toB, from, token } = await sides(tcp);
  await toB.write(from, token);
  expect(seen).toEqual([
    [1n, undefined],
    [1n, `${SIZE}`],
  ]);
  expect([calls.getStore(), ends.getStore()]).toEqual([undefined, undefined]);
});

test('a call that is refused, and a transfer that began before the subscription, publish nothing', async () => {
  const { toB, from, token } = await sides(tcp);
  const before = toB.write(from, token);
  const { traces } = record<TransferTraceMessage>(CHANNEL);
  expect(() => toB.write(from, 'no token')).toThrow(TypeError);
  expect(() => before.repeat()).toThrow(/has not ended/);
  await before;
  expect(traces).toEqual([]);
});

test('a subscriber that closes the engine ends the transfer once', async () => {
  const { a, toB, from, token } = await sides(tcp);
  const channel = tracingChannel<unknown, TransferTraceMessage>(CHANNEL);
  const close = ({ engine }: TransferTraceMessage) => void engine.close();
  channel.start.subscribe(close as () => void);
  onTestFinished(() => void channel.start.unsubscribe(close as () => void));
  const { traces } = record<TransferTraceMessage>(CHANNEL);
  await expect(toB.write(from, token)).rejects.toMatchObject({ code: 'FI_ECANCELED' });
  await a.close();
  expect(traces.map(({ events }) => events)).toEqual([FAILS]);
});
