// One signal for many transfers and waits, and signals of other realms.
import { describe, expect, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { enginePair } from '../support/engines.js';
import { foreignController, listenersOf } from '../support/signals.js';
import '../support/softefa.js';

const providers = casesOf(['shm', 'tcp', 'efa'], (provider) => provider !== 'efa');

describe.each(providers)('%s', (provider) => {
  async function sides() {
    const { a, b, toA, toB } = await enginePair({ provider, nics: 1, maxTransfers: 4 });
    const from = await a.allocate(1 << 20);
    const into = await b.allocate(1 << 20);
    const { token } = await into.offer({ access: 'write', to: toA, repeat: true });
    const group = a.group([toB]);
    const calls = (signal: AbortSignal) => [
      ...Array.from({ length: 20 }, () => toB.write(from, token, { signal }).then(() => 'done')),
      ...Array.from({ length: 20 }, () => group.barrier({ signal })),
      ...Array.from({ length: 20 }, () => group.scatter([{ from, token }], { signal })),
    ];
    return { a, calls };
  }

  test('transfers and waits that a signal may end share one listener, which goes with the last of them', async () => {
    const { a, calls } = await sides();
    const { signal } = new AbortController();
    const ends = Promise.allSettled(calls(signal));
    expect(listenersOf(signal)).toBe(1);
    await a.close();
    await ends;
    expect(listenersOf(signal)).toBe(0);
  });

  test.each([
    ['this', () => new AbortController()],
    ['another', foreignController],
  ])('a signal of %s realm ends all of them with its reason', async (_, controller) => {
    const { calls } = await sides();
    const aborting = controller();
    const ends = Promise.allSettled(calls(aborting.signal));
    const reason = new Error('enough');
    aborting.abort(reason);
    for (const end of await ends) expect(end).toEqual({ status: 'rejected', reason });
    expect(() => calls(aborting.signal)).toThrow(reason);
  });

  test('a transfer that is aborted at once sends nothing, nor one that waits for its turn, and the token stays valid', async () => {
    const { a, b, toA, toB } = await enginePair({ provider, nics: 1, maxTransfers: 2 });
    const [from, into] = [await a.allocate(4096), await b.allocate(4096)];
    from.bytes.fill(1);
    const all = [];
    for (let i = 0; i < 50; i++) {
      const offer = await into.offer({ access: 'write', to: toA });
      const controller = new AbortController();
      const options = { signal: controller.signal, notification: Buffer.from('late') };
      const writes = [1, 2, 3].map(() => toB.write(from, offer.token, options));
      controller.abort();
      const ends = await Promise.allSettled(writes);
      expect(ends.map(({ status }) => status)).toEqual(Array(3).fill('rejected'));
      await Promise.all(writes.map(({ released }) => released));
      all.push(offer);
    }
    expect(a.stats().transfers).toMatchObject({ running: 0, waiting: 0 });
    for (const { token } of all.slice(1)) await toB.write(from, token);
    expect(Buffer.from(into.bytes).equals(Buffer.alloc(4096, 1))).toBe(true);
    for (const { arrived } of all.slice(1)) expect((await arrived).notification).toBeUndefined();
    into.bytes.fill(0);
    await all[0]?.close();
    expect(Buffer.from(into.bytes).equals(Buffer.alloc(4096))).toBe(true);
  });
});
