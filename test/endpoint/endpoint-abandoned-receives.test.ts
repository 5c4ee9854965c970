// Receives that are abandoned before a message arrives. The next receive gets the message.
import { type DriverKind, getInfo, open } from 'libfabric';
import { describe, expect, type TestContext, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { until } from '../support/lifecycle.js';
import { datagram, drivers } from '../support/providers.js';
import { closing, datagramPair, fabricError, Guarded, Pair } from '../support/transfer.js';

const unreliable = ['efa-direct', ...datagram];
const each = unreliable.flatMap((provider) => drivers.map((driver) => [provider, driver] as const));

const direct = { fabricAttr: { provName: 'efa', name: 'efa-direct' } } as const;

async function pairOf(context: TestContext, provider: string, driver: DriverKind) {
  if (provider !== 'efa-direct') return datagramPair(context, provider, driver);
  context.skip(getInfo(direct).length === 0, 'libfabric < 2.1 has no efa-direct');
  const options = { provider: 'efa', fabric: 'efa-direct', caps: ['FI_MSG'], driver } as const;
  const a = closing(await open(options));
  return new Pair(a, closing(await open(options)));
}

describe.each(each)('%s, %s driver', (provider, driver) => {
  test('the message after an aborted receive completes the next receive', async (context) => {
    const wire = await pairOf(context, provider, driver);
    const control = new AbortController();
    const given = new Uint8Array(64);
    const aborted = wire.b.recv(given, null, { signal: control.signal });
    await wire.postedByB(1);
    control.abort(new Error('enough'));
    expect(await wire.fails(aborted)).toHaveProperty('message', 'enough');
    const target = new Uint8Array(64);
    const received = wire.b.recv(target);
    await wire.postedByB(2);
    await wire.done(wire.a.send(pattern(40, 7), wire.toB));
    expect((await wire.done(received)).length).toBe(40);
    expectBytes(target.subarray(0, 40), pattern(40, 7));
    expectBytes(given, new Uint8Array(64));
  });
});

// These providers cannot cancel a receive: its buffer stays posted.
const keeping = each.filter(([provider]) => provider !== 'sockets');

describe.each(keeping)('%s, %s driver', (provider, driver) => {
  /** Opens a pair whose endpoint b has `count` abandoned receives. */
  async function abandonReceives(context: TestContext, count: number) {
    const wire = await pairOf(context, provider, driver);
    const given = Array.from({ length: count }, () => new Uint8Array(64));
    const control = new AbortController();
    const { signal } = control;
    const late = given.map((buffer) => wire.fails(wire.b.recv(buffer, null, { signal })));
    await wire.postedByB(count);
    control.abort(new Error('enough'));
    for (const each of late) expect(await each).toHaveProperty('message', 'enough');
    const send = async (...seeds: number[]) => {
      for (const seed of seeds) await wire.done(wire.a.send(pattern(64, seed), wire.toB));
    };
    const done = wire.done.bind(wire);
    return { b: wire.b, done, fails: wire.fails.bind(wire), given, send };
  }

  test('messages that arrive without a receive are kept, in order, for the next receives', async (context) => {
    const { b, send, done, given } = await abandonReceives(context, 4);
    await send(1, 2, 3, 4);
    for (const seed of [1, 2, 3, 4]) {
      const target = new Guarded(64);
      expect((await done(b.recv(target.bytes))).length).toBe(64);
      expectBytes(target.bytes, pattern(64, seed));
      target.expectIntact();
    }
    for (const buffer of given) expectBytes(buffer, new Uint8Array(64));
  });

  test('a stream, a batch and posted receives also get the kept messages', async (context) => {
    const { b, send, done } = await abandonReceives(context, 6);
    await send(1, 2, 3, 4, 5, 6);
    const queued = new Uint8Array(64);
    b.post.recv(queued, null, { context: 'queued' });
    let entries = b.receiveQueue.read();
    while (entries.length === 0) {
      await done(new Promise(setImmediate));
      entries = b.receiveQueue.read();
    }
    expect(entries).toMatchObject([{ context: 'queued', completion: { length: 64 } }]);
    expectBytes(queued, pattern(64, 1));
    const target = new Uint8Array(64);
    const batch = b.batch();
    batch.recv(target.subarray(0, 32));
    batch.clear();
    batch.recv(target);
    for (const seed of [2, 3, 4]) {
      await done(batch.submit());
      expectBytes(target, pattern(64, seed));
    }
    const stream = b.messages({ count: 2, size: 64 });
    for (const seed of [5, 6]) {
      const { value } = await done(stream.next());
      expectBytes(value?.bytes as Uint8Array, pattern(64, seed));
    }
    await done(stream.return());
  });

  test('recvv scatters a kept message', async (context) => {
    const { b, send, done } = await abandonReceives(context, 1);
    await send(9);
    const targets = [new Guarded(10), new Guarded(100)];
    const count = Math.min(2, b.info.rxAttr.iovLimit);
    context.skip(count < 2, 'one segment');
    expect(await done(b.recvv(targets.map(({ bytes }) => bytes)))).toMatchObject({ length: 64 });
    const arrived = Buffer.concat(targets.map(({ bytes }) => bytes)).subarray(0, 64);
    expectBytes(arrived, pattern(64, 9));
    for (const target of targets) target.expectIntact();
  });

  test('a receive of a longer message fails with FI_ETRUNC, whether the message was kept or not', async (context) => {
    const { b, send, done, fails } = await abandonReceives(context, 1);
    await send(1);
    const targets = [new Guarded(16), new Guarded(16)] as const;
    expect(await fails(b.recv(targets[0].bytes))).toEqual(fabricError('FI_ETRUNC'));
    const { operations } = b.domain.stats();
    const failing = fails(b.recv(targets[1].bytes));
    while (b.domain.stats().operations === operations) {
      if (driver === 'manual') b.domain.progress();
      await new Promise(setImmediate);
    }
    await send(2);
    expect(await failing).toEqual(fabricError('FI_ETRUNC'));
    for (const target of targets) target.expectIntact();
    const after = b.recv(new Uint8Array(64), null, { timeout: 5 });
    expect(await done(after.catch((error) => error))).toEqual(fabricError('FI_ETIMEDOUT'));
  });

  test('an aborted batch of receives loses no message', async (context) => {
    const { b, send, done, fails } = await abandonReceives(context, 0);
    const batch = b.batch();
    for (let i = 0; i < 3; i++) batch.recv(new Uint8Array(64));
    for (let round = 0; round < 2; round++) {
      const control = new AbortController();
      const submitted = fails(batch.submit({ signal: control.signal }));
      control.abort(new Error('enough'));
      expect(await submitted).toHaveProperty('message', 'enough');
      await until(() => batch.inFlight === 0); // the driver's thread may be late
    }
    await send(1, 2, 3);
    for (const seed of [1, 2, 3]) {
      const target = new Uint8Array(64);
      await done(b.recv(target));
      expectBytes(target, pattern(64, seed));
    }
  });

  test('close() does not wait for receives', async (context) => {
    const { b, done } = await abandonReceives(context, 3);
    const waiting = b.recv(new Uint8Array(64)).then(
      () => 'received',
      (error: unknown) => error,
    );
    const start = performance.now();
    await done(b.close({ timeout: 5000 }));
    expect(performance.now() - start).toBeLessThan(2500);
    expect(await done(waiting)).toEqual(fabricError('FI_ECANCELED'));
  });
});
