// One signal for many calls, and signals of other realms.
import { open } from 'libfabric';
import { describe, expect, onTestFinished, test } from 'vitest';
import { combinations } from '../support/cases.js';
import { tally } from '../support/lifecycle.js';
import { settle } from '../support/settle.js';
import { foreignController, listenersOf } from '../support/signals.js';
import { loopback } from '../support/transfer.js';
import '../support/softefa.js';

const CAPS = ['FI_MSG', 'FI_RMA'] as const;
const bytes = () => new Uint8Array(8);

describe.each(combinations)('$provider, $driver driver', ({ provider, driver }) => {
  async function endpoints(count: number) {
    const opening = Array.from({ length: count }, () =>
      open({ provider, driver, caps: CAPS, ...loopback(provider) }),
    );
    const all = await Promise.all(opening);
    onTestFinished(async () => {
      await Promise.all(all.map((ep) => ep.close()));
    });
    return all;
  }

  test('all calls that a signal may end share one listener, which goes with the last of them', async () => {
    const all = await endpoints(3);
    const { signal } = new AbortController();
    const calls = all.flatMap((ep) => [
      ...Array.from({ length: 20 }, () => ep.recv(bytes(), null, { signal })),
      ...Array.from({ length: 20 }, (_, i) => ep.receiveQueue.arrived(i, 1, { signal })),
      ...Array.from({ length: 20 }, () => ep.av.insertMany([ep.address], { signal })),
      ...Array.from({ length: 20 }, () => ep.domain.register(bytes(), ['FI_SEND'], { signal })),
      ...Array.from({ length: 20 }, () => ep.messages({ count: 1, size: 8, signal }).next()),
    ]);
    expect(listenersOf(signal)).toBe(1);
    const ends = tally(calls);
    await Promise.all(all.map((ep) => settle(ep.close(), ep.domain)));
    await ends;
    expect(listenersOf(signal)).toBe(0);
  });

  test('a signal ends all of its calls, on all endpoints', async () => {
    const all = await endpoints(3);
    const controller = new AbortController();
    const { signal } = controller;
    const calls = all.flatMap((ep) => [
      ep.recv(bytes(), null, { signal }),
      ep.receiveQueue.arrived(1, 1, { signal }),
      ep.messages({ count: 1, size: 8, signal }).next(),
    ]);
    const reason = new Error('enough');
    const ends = Promise.allSettled(calls);
    controller.abort(reason);
    const settled = await settle(ends, ...all.map(({ domain }) => domain));
    expect(settled).toEqual(calls.map(() => ({ status: 'rejected', reason })));
    expect(listenersOf(signal)).toBe(0);
  });
});

describe('a signal of another realm', () => {
  const opened = async () => {
    const ep = await open({ provider: 'shm', caps: CAPS });
    onTestFinished(() => ep.close());
    return ep;
  };

  test.each(['recv', 'arrived', 'messages'] as const)('ends %s() with its reason', async (name) => {
    const ep = await opened();
    const { signal, abort } = foreignController();
    const calls = {
      recv: () => ep.recv(bytes(), null, { signal }),
      arrived: () => ep.receiveQueue.arrived(1, 1, { signal }),
      messages: () => ep.messages({ count: 1, size: 8, signal }).next(),
    };
    const reason = new Error('enough');
    const ended = expect(calls[name]()).rejects.toBe(reason);
    abort(reason);
    await ended;
  });

  test('ends calls with one AbortError for all if it has no reason', async () => {
    const ep = await opened();
    const { signal, abort } = foreignController();
    const calls = [ep.recv(bytes(), null, { signal }), ep.receiveQueue.arrived(1, 1, { signal })];
    abort();
    const ends = await Promise.allSettled(calls);
    const reasons = ends.map((end) => end.status === 'rejected' && end.reason);
    expect(reasons[0]).toMatchObject({ name: 'AbortError' });
    expect(reasons[1]).toBe(reasons[0]);
    await expect(ep.recv(bytes(), null, { signal })).rejects.toBe(reasons[0]);
    await ep.close({ signal });
  });

  test('must have the members of one', async () => {
    const ep = await opened();
    const { signal } = foreignController();
    for (const name of ['aborted', 'addEventListener', 'removeEventListener']) {
      const wrong = { ...signal, [name]: undefined } as AbortSignal;
      for (const call of [
        ep.recv(bytes(), null, { signal: wrong }),
        ep.receiveQueue.arrived(1, 1, { signal: wrong }),
        ep.close({ signal: wrong }),
      ]) {
        await expect(call).rejects.toMatchObject({
          code: 'ERR_INVALID_ARG_TYPE',
          message: expect.stringContaining('options.signal must be an AbortSignal'),
        });
      }
    }
  });
});
