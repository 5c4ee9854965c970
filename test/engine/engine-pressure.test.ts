import { open } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { combinations } from '../support/cases.js';
import { exchangeMessage } from '../support/lifecycle.js';
import { PROVIDERS } from '../support/providers.js';
import { settle } from '../support/settle.js';

describe.each(combinations)('$provider, $driver driver', ({ provider, driver }) => {
  const opened = () => open({ provider, driver, caps: ['FI_MSG'] });

  test('100,000 sends in flight before any receive is posted arrive in order', async () => {
    const COUNT = 100_000;
    const a = await opened();
    const b = await opened();
    const domains = [a.domain, b.domain];
    const peer = await exchangeMessage(a, b);
    const numbers = Uint32Array.from({ length: COUNT }, (_, i) => i);
    const received = new Uint32Array(COUNT);
    const sends: Promise<void>[] = [];
    for (let i = 0; i < COUNT; i++) sends.push(a.send(numbers.subarray(i, i + 1), peer));
    const receiveAll = async () => {
      for (let i = 0; i < COUNT; i += 500) {
        const posted = [];
        for (let k = i; k < i + 500; k++) posted.push(b.recv(received.subarray(k, k + 1)));
        await Promise.all(posted);
      }
    };
    await settle(Promise.all([receiveAll(), ...sends]), ...domains);
    expect(received.every((number, i) => number === i)).toBe(true);
    expect(a.domain.stats().backPressure).toBeGreaterThan(0);
    await a.close();
    await b.close();
  });

  test('stats() counts operations, also while they are in flight', async () => {
    const a = await opened();
    const b = await opened();
    const domains = [a.domain, b.domain];
    const peer = await exchangeMessage(a, b);
    const before = a.domain.stats();
    const ROUNDS = 50;
    const SIZE = 64;
    const COUNT = 128;
    const sends = a.batch();
    const receives = b.batch();
    const payload = new Uint8Array(SIZE);
    for (let i = 0; i < COUNT; i++) {
      sends.send(payload, peer);
      receives.recv(new Uint8Array(SIZE));
    }
    let last = before;
    for (let i = 0; i < ROUNDS; i++) {
      const both = Promise.all([receives.submit(), sends.submit()]);
      const now = a.domain.stats();
      for (const name of Object.keys(now) as (keyof typeof now)[]) {
        expect(now[name]).toBeGreaterThanOrEqual(last[name]);
      }
      last = now;
      await settle(both, ...domains);
    }
    const after = a.domain.stats();
    const since = (name: keyof typeof after) => after[name] - before[name];
    expect(since('operations')).toBe(ROUNDS * COUNT);
    expect(since('completions')).toBe(ROUNDS * COUNT);
    expect(since('bytesTransferred')).toBe(ROUNDS * COUNT * SIZE);
    expect(since('errors')).toBe(0);
    expect(since('turns')).toBeGreaterThan(0);
    // A batch wakes the event loop once.
    expect(since('wakeups')).toBeLessThanOrEqual(ROUNDS * 2);
    expect(Object.isFrozen(after)).toBe(true);
    await a.close();
    await b.close();
  });
});

test.each(PROVIDERS)(
  'no completion is lost if the event loop reads them late: %s',
  async (provider) => {
    const COUNT = 40_000; // the ring has room for 8,192
    const a = await open({ provider, driver: 'thread', caps: ['FI_MSG'] });
    const b = await open({ provider, driver: 'thread', caps: ['FI_MSG'] });
    const peer = await exchangeMessage(a, b);
    const messages = b.messages({ count: 512, size: 16 });
    const counted = (async () => {
      for (let i = 0; i < COUNT; i++) await messages.next();
    })();
    let settled = 0;
    const sends = Array.from({ length: COUNT }, () => a.inject(new Uint8Array(4), peer));
    for (const send of sends) send.then(() => settled++);
    const start = performance.now();
    await Promise.all(sends);
    await counted;
    expect(settled).toBe(COUNT);
    expect(performance.now() - start).toBeLessThan(10_000);
    await messages.return();
    await a.close();
    await b.close();
  },
);
