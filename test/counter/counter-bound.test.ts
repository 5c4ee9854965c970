import { type Cap, type Counter, Fabric } from 'libfabric';
import { describe, expect, type TestContext, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { until } from '../support/lifecycle.js';
import { common } from '../support/providers.js';
import { available, closing, entryOf, fabricError, Pair } from '../support/transfer.js';

const CAPS = ['FI_MSG', 'FI_RMA'] as const;

/** Opens two endpoints, each with counters of sends, receives and writes. */
function counted(context: TestContext, provider: string) {
  const provName = available(context, provider, CAPS);
  const open = () => {
    const info = entryOf(provName, CAPS);
    const domain = closing(Fabric.open(info)).domain(info, { driver: 'thread' });
    const count = (flag: Cap) => ({ counter: domain.counter(), flags: [flag] });
    const counters = [count('FI_SEND'), count('FI_RECV'), count('FI_WRITE')] as const;
    const [sends, receives, writes] = counters.map(({ counter }) => counter) as [
      Counter,
      Counter,
      Counter,
    ];
    const av = domain.addressVector();
    const ep = domain.endpoint(info, { av, cq: domain.completionQueue(), counters });
    return { ep, sends, receives, writes };
  };
  const [a, b] = [open(), open()];
  const wire = new Pair(a.ep, b.ep);
  const message = async (length = 8, room = length) => {
    const received = wire.b.recv(new Uint8Array(room));
    const outcome = received.catch((error: unknown) => error);
    await wire.done(wire.a.send(pattern(length), wire.toB));
    return wire.done(outcome);
  };
  return { a, b, wire, message };
}

test('over shm, a message that does not fit is counted as an error, and never as received', async (context) => {
  const { b, wire } = counted(context, 'shm');
  const { receives } = b;
  const batch = b.ep.batch();
  for (let i = 0; i < 2; i++) batch.recv(new Uint8Array(8));
  let [received, failed] = [0n, 0n];
  for (let round = 0; round < 60; round++) {
    const submitted = round % 2 === 0 ? batch.submit() : undefined;
    const ends =
      submitted === undefined
        ? [b.ep.recv(new Uint8Array(8)), b.ep.recv(new Uint8Array(8))]
        : [submitted];
    const settled = Promise.allSettled(ends);
    const lengths = round % 3 === 0 ? [8, 5000] : [64, 8];
    const sends = lengths.map((length) => wire.a.send(pattern(length), wire.toB));
    received += 1n;
    failed += 1n;
    // The engine's thread receives the messages meanwhile.
    while (receives.readErr() < failed) expect(receives.read()).toBeLessThanOrEqual(received);
    await wire.done(Promise.all([settled, ...sends]));
    expect([receives.read(), receives.readErr()]).toEqual([received, failed]);
  }
});

describe.each(common)('%s', (provider) => {
  test('the cancellation of a completed operation ends no wait that begins later', async (context) => {
    const { a, wire, message } = counted(context, provider);
    await message();
    const { domain } = a.ep;
    const completions = () => domain.stats().completions;
    for (let i = 0; i < 20; i++) {
      const enough = new AbortController();
      const other = domain.counter();
      const before = completions();
      const late = a.ep.recv(new Uint8Array(8), null, { signal: enough.signal }).catch(() => {});
      const sent = wire.b.send(pattern(8), wire.toA);
      // The engine completes the receive, and this program does not read the completion.
      while (completions() === before);
      enough.abort(new Error('enough'));
      const closed = other.close(); // reads completions
      const timeout = { timeout: 20 };
      const waits = [
        a.writes.wait(1000, timeout),
        a.ep.receiveQueue.arrived(BigInt(i), 1, timeout),
      ];
      for (const wait of waits) {
        await expect(wire.done(wait)).rejects.toEqual(fabricError('FI_ETIMEDOUT'));
      }
      await Promise.all([late, sent, closed]);
    }
  });

  test('counters count the operations of their flags', async (context) => {
    const { a, b, message } = counted(context, provider);
    expect(a.sends.read()).toBe(0n);
    for (let i = 0; i < 5; i++) await message();
    await until(() => a.sends.read() === 5n && b.receives.read() === 5n);
    expect([a.receives.read(), a.writes.read(), b.sends.read()]).toEqual([0n, 0n, 0n]);
    expect([a.sends.readErr(), b.receives.readErr()]).toEqual([0n, 0n]);
  });

  test('a counter of FI_WRITE counts RMA writes and no messages', async (context) => {
    const { a, b, wire, message } = counted(context, provider);
    const region = await b.ep.domain.allocate(4096, ['FI_REMOTE_WRITE']);
    const remote = a.ep.domain.remote(region.descriptor());
    await message();
    const three = a.writes.wait(3);
    for (let i = 0; i < 3; i++) {
      await wire.done(wire.a.write(pattern(16, i), wire.toB, remote, { offset: i * 16 }));
    }
    await wire.done(three);
    expect(a.writes.read()).toBe(3n);
    expect(a.sends.read()).toBe(1n);
  });

  test('wait() resolves when the threshold is reached, and not before', async (context) => {
    const { b, wire, message } = counted(context, provider);
    let reached = false;
    const four = b.receives.wait(4n).then(() => {
      reached = true;
    });
    const two = b.receives.wait(2);
    await message();
    await message();
    await wire.done(two);
    expect(reached).toBe(false);
    await message();
    await message();
    await wire.done(four);
    expect(b.receives.read()).toBe(4n);
    await wire.done(b.receives.wait(1n));
  });

  test('add() and set() change the value and end waits', async (context) => {
    const { a, wire, message } = counted(context, provider);
    const hundred = a.sends.wait(100);
    a.sends.add(41);
    await until(() => a.sends.read() === 41n);
    await message();
    await until(() => a.sends.read() === 42n);
    a.sends.add(58n);
    await wire.done(hundred);
    const large = a.sends.wait(2n ** 40n);
    a.sends.set(2n ** 40n);
    await wire.done(large);
    a.sends.set(0);
    await until(() => a.sends.read() === 0n);
  });

  test('an aborted wait rejects with its reason and does not affect others', async (context) => {
    const { b, wire, message } = counted(context, provider);
    const controller = new AbortController();
    const aborted = b.receives.wait(1, { signal: controller.signal });
    const other = b.receives.wait(1);
    controller.abort(new Error('enough'));
    expect(await wire.fails(aborted)).toHaveProperty('message', 'enough');
    const early = b.receives.wait(1, { signal: AbortSignal.abort(new Error('early')) });
    expect(await wire.fails(early)).toHaveProperty('message', 'early');
    await message();
    await wire.done(other);
  });

  test('failed operations count as errors and end waits with FI_EAVAIL', async (context) => {
    const { b, wire, message } = counted(context, provider);
    const waiting = wire.fails(b.receives.wait(1));
    expect(await message(64, 8)).toEqual(fabricError('FI_ETRUNC'));
    expect(await waiting).toEqual(fabricError('FI_EAVAIL'));
    expect(b.receives.readErr()).toBe(1n);
    const next = b.receives.wait(1);
    b.receives.add(1);
    await wire.done(next);
  });

  test('closing the domain ends waits', async (context) => {
    const { b, wire } = counted(context, provider);
    const waiting = wire.fails(b.receives.wait(1));
    await wire.done(b.ep.domain.close());
    expect(await waiting).toMatchObject({ code: expect.stringMatching(/CANCELED|CLOSED|STATE/) });
    expect(b.receives.closed).toBe(true);
    expect(() => b.receives.read()).toThrow();
  });

  test('closing an unbound counter ends waits for it', async (context) => {
    const { b, wire } = counted(context, provider);
    const counter = b.ep.domain.counter();
    const waiting = wire.fails(counter.wait(1));
    await counter.close();
    expect(await waiting).toEqual(fabricError('FI_ECANCELED'));
    expect(() => counter.read()).toThrow();
    await expect(counter.wait(1)).rejects.toThrow();
  });

  test('closing a bound counter ends waits for it', async (context) => {
    const { b, wire, message } = counted(context, provider);
    const waiting = b.receives.wait(1);
    await message();
    await wire.done(waiting);
    const more = wire.fails(b.receives.wait(2));
    await wire.done(b.ep.close());
    await b.receives.close();
    expect(await more).toEqual(fabricError('FI_ECANCELED'));
  });

  test('a counter of bytes is refused if the provider only counts operations', async (context) => {
    const { a } = counted(context, provider);
    const { domain } = a.ep;
    expect(domain.counter({ events: 'FI_CNTR_EVENTS_COMP' }).events).toBe('FI_CNTR_EVENTS_COMP');
    expect(a.sends.events).toBe('FI_CNTR_EVENTS_COMP');
    const bytes = () => domain.counter({ events: 'FI_CNTR_EVENTS_BYTES' });
    expect(bytes).toThrow(fabricError('FI_ENOSYS') as Error);
    expect(bytes).toThrow('count operations only');
    expect(() => domain.counter({ events: 'bytes' as never })).toThrow('options.events must be');
  });
});
