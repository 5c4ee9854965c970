// Arrivals that are not read: the engine keeps a limited number, and reports the loss of others.
import type { FabricError } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { casesOf, slow } from '../support/cases.js';
import { common, drivers } from '../support/providers.js';
import { closing, fabricError, pair } from '../support/transfer.js';

const KEPT = 65_536;

const cases = [
  ...common.map((provider) => [provider, 'thread'] as const),
  ...drivers.slice(1).map((driver) => ['shm', driver] as const),
];

const some = casesOf(cases, ([provider, driver]) => provider !== 'shm' || driver === 'loop');

describe.each(some)('%s, %s driver', (provider, driver) => {
  async function window(context: Parameters<typeof pair>[0]) {
    const wire = await pair(context, provider, ['FI_MSG', 'FI_RMA'], driver);
    const region = closing(await wire.b.domain.allocate(4096, ['FI_REMOTE_WRITE']));
    const remote = wire.a.domain.remote(region.descriptor());
    const source = pattern(8);
    const done = wire.done.bind(wire);
    return {
      b: wire.b,
      done,
      fails: wire.fails.bind(wire),
      /** Writes with data from `first` on. Resolves when all have arrived. */
      async write(first: number, count: number) {
        const before = wire.b.domain.stats().immediates;
        for (let at = 0; at < count; at += 4096) {
          const batch = wire.a.batch();
          for (let i = at; i < Math.min(count, at + 4096); i++) {
            batch.writedata(source, first + i, wire.toB, remote);
          }
          await done(batch.submit());
          batch.close();
        }
        while (wire.b.domain.stats().immediates < before + count) {
          await done(new Promise(setImmediate));
        }
        await done(new Promise(setImmediate));
      },
    };
  }

  if (slow)
    test('values beyond the limit are lost and reported; forgetImmediates() clears the error', async (context) => {
      const { b, done, fails, write } = await window(context);
      const waiting = b.receiveQueue.arrived(KEPT + 2);
      await write(0, KEPT + 4);
      await done(waiting);
      expect(b.domain.stats().lostImmediates).toBe(3);
      let errors: FabricError[] = [];
      while (errors.length === 0) {
        await done(new Promise(setImmediate));
        errors = b.receiveQueue.readErrors();
      }
      expect(errors).toMatchObject([fabricError('FI_EOVERRUN')]);
      expect(await fails(b.receiveQueue.arrived(100_000))).toMatchObject({
        code: 'FI_EOVERRUN',
        message: expect.stringMatching(/3 arrivals .*forgetImmediates/),
      });
      const { counted, lost } = b.receiveQueue.forgetImmediates();
      expect({ counted, lost }).toEqual({ counted: KEPT, lost: 3 });
      const again = b.receiveQueue.arrived(100_000);
      await write(100_000, 1);
      await done(again);
      expect(b.receiveQueue.readErrors()).toEqual([]);
    });

  test('immediates() yields the kept values, then rejects with FI_EOVERRUN', async (context) => {
    const { b, done, fails, write } = await window(context);
    await write(0, KEPT + 1);
    const stream = b.receiveQueue.immediates();
    for (let i = 0; i < KEPT; i++) {
      if (stream.take() === undefined) await done(stream.next());
    }
    expect(await fails(stream.next())).toEqual(fabricError('FI_EOVERRUN'));
    expect((await done(stream.next())).done).toBe(true);
    const next = b.receiveQueue.immediates();
    await write(7, 1);
    expect(await done(next.next())).toMatchObject({ value: { data: 7n } });
    await done(next.return());
  });

  test('an unread stream keeps arrivals up to its limit; the next stream yields the others', async (context) => {
    const { b, done, fails, write } = await window(context);
    const stream = b.receiveQueue.immediates({ limit: 4 });
    await write(0, 10);
    const seen = new Set<bigint>();
    for (let i = 0; i < 4; i++) seen.add((await done(stream.next())).value.data);
    expect(await fails(stream.next())).toEqual(fabricError('FI_EOVERRUN'));
    const rest = b.receiveQueue.immediates({ limit: 100 });
    for (let i = 0; i < 6; i++) seen.add((await done(rest.next())).value.data);
    expect(seen.size).toBe(10);
    await done(rest.return());
    expect(b.domain.stats().lostImmediates).toBe(0);
  });

  test('unread arrivals of a stream that ended count for arrived()', async (context) => {
    const { b, done, fails, write } = await window(context);
    const stream = b.receiveQueue.immediates({ timeout: 50 });
    expect(await fails(stream.next())).toEqual(fabricError('FI_ETIMEDOUT'));
    await write(1, 1);
    await done(b.receiveQueue.arrived(1));
    const another = b.receiveQueue.immediates();
    await write(5, 3);
    await done(another.return());
    await done(Promise.all([5, 6, 7].map((value) => b.receiveQueue.arrived(value))));
  });
});
