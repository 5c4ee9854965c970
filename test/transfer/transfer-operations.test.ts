// The channels, metrics, dumpState() and events of a transfer engine.
import '../support/four-nics.js';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { dumpState } from 'libfabric';
import {
  type EngineEvent,
  type RailEvent,
  type TransferEngine,
  type TransferMessages,
  transferMetrics,
} from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { enginePair } from '../support/engines.js';
import { testFaults } from '../support/softefa.js';

const SIZE = 1 << 20;
const faults = testFaults();

/** Collects the messages of a channel. */
function messages<N extends keyof TransferMessages>(name: N): TransferMessages[N][] {
  const seen: TransferMessages[N][] = [];
  const listener = (message: unknown) => seen.push(message as TransferMessages[N]);
  subscribe(name, listener);
  onTestFinished(() => {
    unsubscribe(name, listener);
  });
  return seen;
}

/** The samples of an engine's metrics, by name and labels without those of the engine and its NICs. */
async function samples(engine: TransferEngine): Promise<Record<string, number>> {
  const { type, text } = await transferMetrics();
  expect(type).toContain('text/plain');
  const own = `engine="${engine.number}"`;
  const lines = text.split('\n').filter((line) => line.includes(own));
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = '', labels = '', value] = /^(\w+)\{(.*)\} (\S+)$/.exec(line) ?? [];
      const rest = labels.split(',').filter((label) => !/^(engine|nic)=/.test(label));
      return [`${name}${rest.length > 0 ? `{${rest}}` : ''}`, Number(value)];
    }),
  );
}

const providers = casesOf(['shm', 'tcp', 'efa'], (provider) => provider !== 'tcp');

describe.each(providers)('%s', (provider) => {
  const options = { provider, nics: 2 };

  test('an offer publishes its begin, its arrival and its release', async () => {
    const opened = messages('libfabric:offer:open');
    const arrived = messages('libfabric:offer:arrived');
    const released = messages('libfabric:offer:released');
    const { a, b, toA, toB } = await enginePair(options);
    const from = await a.register(pattern(SIZE));
    const into = await b.register(new Uint8Array(SIZE));
    const offer = await into.offer({ access: 'write', to: toA });
    expect(opened).toEqual([{ engine: b, offer }]);
    expect(offer.to).toBe(toA);
    const transfer = toB.write(from, offer.token, { notification: Buffer.from('x') });
    expect(transfer).toMatchObject({ access: 'write', priority: 'normal', total: SIZE });
    expect(transfer.peer).toBe(toB);
    await transfer;
    const arrival = await offer.arrived;
    expect(arrived).toEqual([{ engine: b, offer, arrival }]);
    await offer.released;
    expect(released).toEqual([{ engine: b, offer }]);

    const unused = await into.offer({ access: 'write', to: toA });
    const aborting = new AbortController();
    const stopped = toB.write(from, unused.token, { signal: aborting.signal });
    const error = new Error('enough');
    await null; // it has begun
    aborting.abort(error);
    await expect(stopped).rejects.toBe(error);
    await unused.released;
    expect(released[1]).toMatchObject({ engine: b, offer: unused });
    // All slices may have been in flight before the abort.
    const [outcome] = await Promise.allSettled([unused.arrived]);
    expect(released[1]?.error).toBe(outcome.status === 'rejected' ? outcome.reason : undefined);
  });

  test('stats(), metrics and dumpState() agree on what is done and what is open', async () => {
    // The timeout is long, so that a busy machine does not look like a stalled rail.
    const { a, b, toA, toB } = await enginePair({ ...options, stall: 60_000 });
    const from = await a.register(pattern(SIZE));
    const into = await b.register(new Uint8Array(SIZE));
    const written = await into.offer({ access: 'write', to: toA });
    const { duration } = await toB.write(from, written.token);
    await written.released;
    const closed = await into.offer({ access: 'write', to: toA });
    await closed.close();
    await into.offer({ access: 'read', to: toA, repeat: true });
    await toB.notify(Buffer.from('hello'));
    await b.notifications().next();

    expect(a.stats()).toEqual({
      transfers: { running: 0, waiting: 0, done: 1, failed: 0, duration, bytesTransferred: SIZE },
      offers: { open: 0, arrived: 0, failed: 0, released: 0 },
      notifications: { sent: 1, received: 0, unread: 0, dropped: 0 },
    });
    expect(b.stats()).toMatchObject({
      offers: { open: 1, arrived: 1, failed: 1, released: 2 },
      notifications: { sent: 0, received: 1, unread: 0, dropped: 0 },
    });

    const figures = await samples(a);
    const sum = (name: string, of: Record<string, number>) =>
      [0, 1].reduce(
        (total, i) => total + (of[`libfabric_transfer_rail_${name}{rail="${i}"}`] ?? NaN),
        0,
      );
    expect(sum('bytes_total', figures)).toBeGreaterThanOrEqual(SIZE); // a late slice is sent twice
    expect(sum('slices_total', figures)).toBeGreaterThan(0);
    expect(sum('up', figures)).toBe(2);
    expect(figures).toMatchObject({
      'libfabric_transfers_total{outcome="done"}': 1,
      'libfabric_transfers_total{outcome="failed"}': 0,
      libfabric_transfers_running: 0,
      libfabric_transfers_seconds_total: duration / 1000,
      libfabric_transfers_bytes_total: SIZE,
      libfabric_transfer_notifications_sent_total: 1,
    });
    const others = await samples(b);
    expect(sum('arrivals_total', others)).toBeGreaterThan(0);
    expect(others).toMatchObject({
      libfabric_transfer_offers_open: 1,
      libfabric_transfer_offers_arrived_total: 1,
      libfabric_transfer_offers_failed_total: 1,
      libfabric_transfer_notifications_received_total: 1,
    });

    const dump = dumpState();
    expect(JSON.parse(JSON.stringify(dump))).toEqual(dump);
    expect(dump.transferEngines.map(({ id }) => id)).toEqual([a.id, b.id]);
    expect(dump.transferEngines[1]).toMatchObject({
      rails: [{ index: 0, state: 'up' }, { index: 1 }],
      peers: [{ id: a.id, rails: 2 }],
      memory: { count: 1, byteLength: SIZE },
      transfers: [],
      offers: [
        { access: 'read', peer: a.id, byteLength: SIZE, repeat: true, state: 'open', arrivals: 0 },
      ],
    });
    expect(dump.transferEngines[1]?.offers[0]?.expiresIn).toBeGreaterThan(0);
    await Promise.all([a.close(), b.close()]);
    expect(dumpState().transferEngines).toEqual([]);
    expect((await transferMetrics()).text).not.toContain(b.id);
  });
});

describe('efa, four rails', () => {
  /** The next event that has this state of a rail, of any rail if `index` is undefined. */
  const until = async (
    events: AsyncIterableIterator<EngineEvent>,
    state: RailEvent['rail']['state'],
    index?: number,
  ) => {
    for await (const event of { [Symbol.asyncIterator]: () => ({ next: () => events.next() }) }) {
      if (event.type !== 'rail' || event.rail.state !== state) continue;
      if (index === undefined || event.rail.index === index) return event;
    }
    throw new Error('the events have ended');
  };

  /** Two engines, with a function that writes until a promise resolves. */
  const writing = async (size = SIZE) => {
    const { a, b, toA, toB } = await enginePair({ provider: 'efa' });
    const from = await a.register(pattern(size));
    const into = await b.register(new Uint8Array(size));
    const during = async <T>(promise: Promise<T>): Promise<T> => {
      let settled = false;
      const settle = () => {
        settled = true;
      };
      promise.then(settle, settle);
      while (!settled) {
        const offer = await into.offer({ access: 'write', to: toA });
        const transfer = toB.write(from, offer.token);
        transfer.catch(() => {});
        await transfer.arrived;
        await offer.arrived;
      }
      return promise;
    };
    return { a, toB, during };
  };

  test('a frozen rail and its return are events for all who iterate, and on the channel', async () => {
    const published = messages('libfabric:rail');
    const { a, toB, during } = await writing();
    const events = a.events();
    const others = a.events();
    const fault = faults.add('freeze', { nic: 2 });
    const stalled = await during(until(events, 'stalled', 2));
    expect(stalled).toMatchObject({ previous: 'up', reason: expect.stringMatching(/./) });
    expect(stalled.rail.nic).toBe(a.rails[2]?.nic);
    expect(stalled.peer).toBe(toB);
    expect(a.rails[2]?.state).toBe('stalled');
    expect(dumpState().transferEngines[0]?.rails[2]?.state).toBe('stalled');
    expect((await samples(a))['libfabric_transfer_rail_up{rail="2"}']).toBe(0);
    fault.remove();
    const up = await during(until(events, 'up', 2));
    expect(up).toMatchObject({ previous: 'stalled', reason: '' });
    await until(others, 'stalled', 2);
    await until(others, 'up', 2);
    const states = published.filter(({ engine, rail }) => engine === a && rail.index === 2);
    expect(states.map(({ rail }) => rail.state).slice(0, 2)).toEqual(['stalled', 'up']);
    const rest = expect(until(events, 'failing')).rejects.toThrow('the events have ended');
    await a.close();
    await rest;
  });

  test('a rail whose slices fail reports the reason, until one succeeds', async (context) => {
    const { a, toB, during } = await writing(32 << 20); // so much that every rail gets slices
    if (a.rails[1]?.path !== 'rdma')
      context.skip('emulated writes that fail do not always complete');
    // All paths are open: a handshake that fails is no slice that fails.
    const slices = () => Math.min(...a.rails.map((rail) => rail.slices));
    await during(Promise.resolve(expect.poll(slices, { timeout: 20_000 }).toBeGreaterThan(0)));
    const events = a.events();
    const fault = faults.add('status', { nic: 1, value: 8 });
    const failing = await during(until(events, 'failing', 1));
    expect(failing.reason).toMatch(/./);
    expect(failing.peer).toBe(toB);
    expect(failing.rail.failures).toBeGreaterThan(0);
    fault.remove();
    const up = await during(until(events, 'up', 1));
    expect(up.reason).toBe('');
  });
});
