// Messages that a stream has received and that were not read are not lost when it ends.
import type { Message } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { everywhere } from '../support/cases.js';
import { expectData, pair } from '../support/transfer.js';

const SIZE = 64;

describe.each(everywhere)('%s, %s driver', (provider, driver) => {
  async function setup(context: Parameters<typeof pair>[0]) {
    const wire = await pair(context, provider, ['FI_MSG', 'FI_SOURCE'], driver);
    const { a, b, toA, toB } = wire;
    const done = wire.done.bind(wire);
    let sent = 0;
    return {
      a,
      b,
      toA,
      done,
      fails: wire.fails.bind(wire),
      /** Sends numbered messages. Resolves when the sends have completed. */
      async send(count: number) {
        for (let i = 0; i < count; i++, sent++) {
          await done(a.senddata(pattern(SIZE - (sent % 5), sent), sent, toB));
        }
      },
    };
  }

  function expectMessage({ bytes }: Pick<Message, 'bytes'>, i: number): void {
    expectBytes(bytes, pattern(SIZE - (i % 5), i));
  }

  test('recv() and the next stream get the unread messages of a returned stream', async (context) => {
    const { b, toA, done, send } = await setup(context);
    const stream = b.messages({ count: 8, size: SIZE });
    await send(6);
    expectMessage((await done(stream.next())).value, 0);
    await done(stream.return());
    expect((await done(stream.next())).done).toBe(true);
    for (const i of [1, 2]) {
      const target = new Uint8Array(SIZE);
      const { length, source, data } = await done(b.recv(target));
      expectMessage({ bytes: target.subarray(0, length) }, i);
      expect(source).toBe(toA);
      expectData(provider, data, BigInt(i));
    }
    const again = b.messages({ count: 2, size: SIZE });
    await send(4);
    for (const i of [3, 4, 5, 6, 7, 8, 9]) {
      const { value } = await done(again.next());
      expectMessage(value, i);
      expect(value.source).toBe(toA);
      expectData(provider, value.data, BigInt(i));
    }
    await done(again.return());
  });

  test('a loop that ends with a rejection loses no message', async (context) => {
    const { b, done, send } = await setup(context);
    const taken: number[] = [];
    const loop = async (count: number) => {
      for await (const { bytes } of b.messages({ count: 4, size: SIZE, timeout: 20 })) {
        expectMessage({ bytes }, taken.length);
        taken.push(taken.length);
        if (taken.length === count) return;
      }
    };
    await done(expect(loop(100)).rejects.toMatchObject({ code: 'FI_ETIMEDOUT' }));
    const sending = send(12);
    while (taken.length < 12) {
      // The loop ends after three messages, or at the timeout.
      await done(loop(taken.length + 3).catch((error) => expect(error.code).toBe('FI_ETIMEDOUT')));
    }
    await sending;
    expect(taken.length).toBe(12);
  });

  test('a signal that aborts while messages arrive loses none of them', async (context) => {
    const { b, done, send } = await setup(context);
    const rounds = 20;
    let next = 0;
    for (let round = 0; round < rounds; round++) {
      const control = new AbortController();
      const stream = b.messages({ count: 4, size: SIZE, signal: control.signal });
      const first = stream.next();
      const sending = send(3);
      const second = stream.next();
      const outcomes = [first, second].map((each) =>
        each.then(
          ({ value }) => value as Message,
          (reason) => reason,
        ),
      );
      if (round % 2 === 0) control.abort('enough');
      else setImmediate(() => control.abort('enough'));
      for (const outcome of await done(Promise.all(outcomes))) {
        if (outcome !== 'enough') expectMessage(outcome, next++);
      }
      await done(stream.return());
      await sending;
    }
    const rest = b.messages({ count: 16, size: SIZE });
    while (next < 3 * rounds) expectMessage((await done(rest.next())).value, next++);
    await done(rest.return());
  });

  test('concurrent next() calls get all messages in order, each with its own bytes', async (context) => {
    const { b, done, send } = await setup(context);
    const stream = b.messages({ count: 4, size: SIZE });
    const count = 60;
    const all = Promise.all(Array.from({ length: count }, () => stream.next()));
    await done(Promise.all([send(count), all]));
    for (const [i, { value }] of (await all).entries()) expectMessage(value, i);
    await done(stream.return());
  });

  test('concurrent readers of a stream each get their own messages', async (context) => {
    const { b, done, send } = await setup(context);
    const stream = b.messages({ count: 4, size: SIZE });
    const count = 60;
    const seen = new Set<number>();
    const reader = async () => {
      while (seen.size < count) {
        const { value, done } = await stream.next();
        if (done) return;
        const i = [...Array(count).keys()].find(
          (each) =>
            value.bytes.length === SIZE - (each % 5) && value.bytes[0] === pattern(1, each)[0],
        ) as number;
        await new Promise(setImmediate);
        expectMessage(value, i);
        seen.add(i);
        if (seen.size === count) await stream.return();
      }
    };
    await done(Promise.all([reader(), reader(), reader(), send(count)]));
    expect(seen.size).toBe(count);
  });
});
