// Iterators of the transfer engine that end, and several at once.
import '../support/softefa.js';
import type { Reader } from 'libfabric/transfer';
import { describe, expect, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { enginePair } from '../support/engines.js';
import { settle } from '../support/settle.js';

const DONE = { value: undefined, done: true };

const providers = casesOf(['tcp', 'shm', 'efa'], (provider) => provider !== 'shm');

describe.each(providers)('%s', (provider) => {
  const options = {
    provider,
    stall: 60_000,
    ...(provider === 'tcp' && { node: '127.0.0.1' }),
  };

  test('an iterator of notifications() that was left takes no message with it', async () => {
    const { b, toB } = await enginePair(options);
    const first = b.notifications();
    const pending = [first.next(), first.next()];
    await first.return();
    expect(await settle(Promise.all(pending))).toEqual([DONE, DONE]);
    for (const text of ['one', 'two']) await toB.notify(Buffer.from(text));
    expect(await first.next()).toEqual(DONE);
    // Messages may overtake each other.
    const texts = new Set<string>();
    for await (const { bytes } of b.notifications()) {
      texts.add(String(bytes));
      break;
    }
    const left = await settle(b.notifications().next());
    expect(texts.add(String(left.value.bytes))).toEqual(new Set(['one', 'two']));
  });

  test('of several iterators of notifications(), each message goes to one, in the order of their calls', async () => {
    const { b, toB } = await enginePair(options);
    const readers = [b.notifications(), b.notifications()];
    const calls = [0, 1, 0, 1].map((reader) => readers[reader]?.next());
    const texts: string[] = [];
    for (const [i, call] of calls.entries()) {
      await toB.notify(Buffer.from(String(i)));
      texts.push(String((await settle(call as ReturnType<Reader<never>['next']>)).value.bytes));
    }
    expect(texts).toEqual(['0', '1', '2', '3']);
    const rest = readers.map((reader) => reader.next());
    await b.close();
    expect(await settle(Promise.all(rest))).toEqual([DONE, DONE]);
  });

  test('of several iterators of an offer, each arrival goes to one, and close() rejects all', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const from = await a.register(pattern(1000));
    const into = await b.register(new Uint8Array(1000));
    const offer = await into.offer({ access: 'write', to: toA, repeat: true });
    const [first, second] = [offer[Symbol.asyncIterator](), offer[Symbol.asyncIterator]()];
    const calls = [first.next(), second.next(), first.next()];
    let transfer = toB.write(from, offer.token);
    for (const [i, call] of calls.entries()) {
      expect((await settle(call)).value.length).toBe(1000);
      await transfer;
      if (i < calls.length - 1) transfer = transfer.repeat();
    }
    const left = second.next();
    await second.return();
    expect(await settle(left)).toEqual(DONE);
    const third = offer[Symbol.asyncIterator]();
    const pending = [first.next(), third.next(), first.next()].map((call) =>
      expect(call).rejects.toMatchObject({ code: 'FI_ECANCELED' }),
    );
    await offer.close();
    await settle(Promise.all(pending));
    expect(await second.next()).toEqual(DONE);
  });

  test('each iterator of progress() sees all of it, and one that was left is done', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const from = await a.register(pattern(1 << 20));
    const into = await b.register(new Uint8Array(1 << 20));
    const offer = await into.offer({ access: 'write', to: toA });
    const transfer = toB.write(from, offer.token);
    const all = async (reader: Reader<{ done: number }>) => {
      let last = -1;
      for await (const { done } of reader) last = done;
      return last;
    };
    const left = transfer.progress();
    const seen = [all(transfer.progress()), all(transfer.progress())];
    await left.next();
    const pending = [left.next(), left.next()];
    await left.return();
    for (const call of await settle(Promise.all(pending))) {
      if (!call.done) expect(call.value.done).toBe(1 << 20); // the transfer ended first
    }
    expect(await settle(Promise.all(seen))).toEqual([1 << 20, 1 << 20]);
  });
});
