// Events that rounds of a batch wait for in addition to their operations: bytes in memory, counters, and
// remote writes with data.
import { Fabric, open } from 'libfabric';
import { describe, expect, type TestContext, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { onCommon } from '../support/cases.js';
import { common } from '../support/providers.js';
import { available, closing, entryOf, fabricError, idle, Pair, pair } from '../support/transfer.js';

const CAPS = ['FI_MSG', 'FI_RMA'] as const;
const BYTES = 64;

/** Returns both endpoints of a ping-pong of writes, each with its source and its target of the peer's writes. */
async function endpointsOf(wire: Pair<'FI_EP_RDM', (typeof CAPS)[number]>) {
  const regions = [wire.a, wire.b].map((ep) =>
    ep.domain.allocate(2 * BYTES, ['FI_WRITE', 'FI_REMOTE_WRITE']),
  );
  const [a, b] = await wire.done(Promise.all(regions));
  if (a === undefined || b === undefined) throw new Error('two regions');
  const side = (ep: typeof wire.a, own: typeof a, peers: typeof a, peer: typeof wire.toA) => ({
    ep,
    region: own,
    into: own.slice(0, BYTES),
    from: own.slice(BYTES, 2 * BYTES),
    peer,
    remote: ep.domain.remote(peers.descriptor()),
  });
  return { a: side(wire.a, a, b, wire.toB), b: side(wire.b, b, a, wire.toA) };
}

describe.each(onCommon)('%s, %s driver', (provider, driver) => {
  const opened = async (context: TestContext) => {
    const wire = await pair(context, provider, CAPS, driver);
    return {
      ...(await endpointsOf(wire)),
      wire,
      done: wire.done.bind(wire),
      fails: wire.fails.bind(wire),
    };
  };
  type Side = Awaited<ReturnType<typeof opened>>['a'];

  /** Returns a batch with one write to the start of the peer's region. */
  const writes = ({ ep, from, peer, remote }: Side) => {
    const batch = ep.batch();
    batch.write(from, peer, remote);
    return batch;
  };

  test('a ping-pong of writes waits for a byte that each round changes', async (context) => {
    const { a, b, done } = await opened(context);
    const times = 600; // the byte wraps twice
    const last = (slice: Side['into']) => slice.slice(BYTES - 1);
    last(a.into).bytes[0] = last(b.into).bytes[0] = 0xff;
    a.from.bytes.set(pattern(BYTES, 1));
    b.from.bytes.set(pattern(BYTES, 2));
    const ping = writes(a).submit({
      times,
      mark: { byte: last(a.from), value: 0 },
      until: { byte: last(a.into), value: 0 },
    });
    const first = b.ep.batch().submit({ until: { byte: last(b.into), value: 0 } });
    expect(await done(first)).toBe(1);
    const pong = writes(b);
    const answers = pong.submit({
      times: times - 1,
      mark: { byte: last(b.from), value: 0 },
      until: { byte: last(b.into), value: 1 },
    });
    expect(await done(answers)).toBe(times - 1);
    expect(
      await done(pong.submit({ mark: { byte: last(b.from), value: (times - 1) % 256 } })),
    ).toBe(1);
    expect(await done(ping)).toBe(times);
    expect(last(a.into).bytes[0]).toBe((times - 1) % 256);
    expect(a.into.bytes.subarray(0, BYTES - 1)).toEqual(b.from.bytes.subarray(0, BYTES - 1));
  });

  test('each round consumes its remote writes with data, including earlier ones', async (context) => {
    const { a, b, done } = await opened(context);
    const batch = a.ep.batch();
    for (let i = 0; i < 3; i++) batch.writedata(a.from, 7, a.peer, a.remote);
    await done(batch.submit({ times: 20 }));
    const consumer = b.ep.batch();
    expect(await done(consumer.submit({ times: 15, until: { immediates: 4 } }))).toBe(15);
    const more = consumer.submit({ until: [{ immediates: 1 }, { immediates: 1 }] });
    await done(batch.submit());
    await done(more);
    expect(await done(b.ep.receiveQueue.arrived(7, 1))).toBeUndefined();
  });

  test('a signal ends a waiting round, and the batch can be submitted again', async (context) => {
    const { a, b, done, fails } = await opened(context);
    b.into.bytes[0] = 1;
    const batch = writes(b);
    const { operations } = b.ep.domain.stats();
    const controller = new AbortController();
    const waiting = fails(
      batch.submit({ until: { byte: b.into, value: 2 }, signal: controller.signal }),
    );
    const posted = async () => {
      while (b.ep.domain.stats().operations === operations) await new Promise(setImmediate);
    };
    await done(posted());
    controller.abort(new Error('enough'));
    expect(await waiting).toEqual(new Error('enough'));
    await done(idle(batch));
    const again = batch.submit({ times: 1, until: { byte: b.into, value: 2 } });
    a.from.bytes[0] = 2;
    await done(writes(a).submit());
    expect(await done(again)).toBe(1);
  });

  test('closing the endpoint ends a waiting round', async (context) => {
    const { a, done } = await opened(context);
    const waiting = a.ep.batch().submit({ until: { byte: a.into, value: 9 } });
    const failed = waiting.catch(({ code }) => code);
    await done(a.ep.close());
    expect(await failed).toBe('FI_ECANCELED');
  });

  test('closing the region ends a round that waits for one of its bytes', async (context) => {
    const { a, done, fails } = await opened(context);
    const failed = fails(a.ep.batch().submit({ until: { byte: a.into, value: 9 } }));
    await done(a.region.close());
    expect(await failed).toEqual(fabricError('FI_ECANCELED'));
  });

  test('a round cannot wait for immediates while immediates() reads them', async (context) => {
    const { b, fails } = await opened(context);
    const arrivals = b.ep.receiveQueue.immediates();
    expect(await fails(b.ep.batch().submit({ until: { immediates: 1 } }))).toEqual(
      fabricError('FI_EBUSY'),
    );
    await arrivals.return();
  });
});

describe.each(common)('%s: counters', (provider) => {
  /** Opens two endpoints with counters of their receives. */
  const opened = (context: TestContext) => {
    const info = entryOf(available(context, provider, CAPS), CAPS);
    const [a, b] = [0, 1].map(() => {
      const domain = closing(Fabric.open(info)).domain(info, { driver: 'thread' });
      const receives = domain.counter();
      const counters = [{ counter: receives, flags: ['FI_RECV'] as const }];
      const av = domain.addressVector();
      return {
        receives,
        ep: domain.endpoint(info, { av, cq: domain.completionQueue(), counters }),
      };
    });
    if (a === undefined || b === undefined) throw new Error('two endpoints');
    return { a, b, wire: new Pair(a.ep, b.ep) };
  };

  test('each round waits until the counter has reached its threshold', async (context) => {
    const { a, b, wire } = opened(context);
    const times = 50;
    const receives = Array.from({ length: 2 * times }, () => b.ep.recv(new Uint8Array(8)));
    const rounds = b.ep
      .batch()
      .submit({ times, until: { counter: b.receives, threshold: 2, step: 2 } });
    const sends = a.ep.batch();
    for (let i = 0; i < 2 * times - 1; i++) sends.send(new Uint8Array(8), wire.toB);
    await wire.done(sends.submit());
    await wire.done(Promise.all(receives.slice(0, -1)));
    const early = Promise.race([rounds, new Promise((next) => setImmediate(next, 'waits'))]);
    expect(await wire.done(early)).toBe('waits');
    await wire.done(a.ep.send(new Uint8Array(8), wire.toB));
    expect(await wire.done(rounds)).toBe(times);
    expect(b.receives.read()).toBe(BigInt(2 * times));
    await wire.done(receives[2 * times - 1] as Promise<unknown>);
  });

  test('an error that the counter counts ends the rounds', async (context) => {
    const { a, b, wire } = opened(context);
    const rounds = wire.fails(
      b.ep.batch().submit({ until: { counter: b.receives, threshold: 1 } }),
    );
    const truncated = wire.fails(b.ep.recv(new Uint8Array(4)));
    await wire.done(a.ep.send(new Uint8Array(100), wire.toB));
    await truncated;
    if (b.receives.readErr() === 0n) return context.skip('the provider does not count errors');
    expect(await rounds).toEqual(fabricError('FI_EAVAIL'));
  });

  test('closing the counter ends the rounds', async (context) => {
    const { b, wire } = opened(context);
    const spare = b.ep.domain.counter();
    const rounds = wire.fails(b.ep.batch().submit({ until: { counter: spare, threshold: 1 } }));
    await wire.done(spare.close());
    expect(await rounds).toEqual(fabricError('FI_ECANCELED'));
  });

  test('a counter of another domain is refused', async (context) => {
    const { a, b } = opened(context);
    const foreign = { until: { counter: a.receives, threshold: 1 } };
    await expect(b.ep.batch().submit(foreign)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARG_VALUE',
    });
  });
});

describe('submit() and run() refuse', () => {
  test.each<[unknown, string, string]>([
    [{ until: 3 }, 'ERR_INVALID_ARG_TYPE', 'options.until'],
    [{ until: {} }, 'ERR_INVALID_ARG_VALUE', 'names no byte, counter or immediates'],
    [{ until: { immediates: 0 } }, 'ERR_OUT_OF_RANGE', 'options.until.immediates'],
    [{ until: { counter: {}, threshold: 1 } }, 'ERR_INVALID_ARG_TYPE', 'a Counter'],
    [{ until: { byte: new Uint8Array(1), value: 1 } }, 'ERR_INVALID_ARG_TYPE', 'a MemoryRegion'],
    [{ mark: { byte: new Uint8Array(1), value: 1 } }, 'ERR_INVALID_ARG_TYPE', 'options.mark.byte'],
    [{ mark: 7 }, 'ERR_INVALID_ARG_TYPE', 'options.mark'],
  ])('%o', async (options, code, text) => {
    await using ep = await open({ provider: 'tcp;ofi_rxm', node: '127.0.0.1', driver: 'manual' });
    const batch = ep.batch();
    batch.recv(new Uint8Array(8));
    const refused = expect.objectContaining({ code, message: expect.stringContaining(text) });
    await expect(batch.submit(options as never)).rejects.toEqual(refused);
    expect(() => batch.run(options as never)).toThrow(refused);
    expect(batch.inFlight).toBe(0);
  });
});
