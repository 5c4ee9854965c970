// notify() in bursts, between engines that know each other, and without a reader.
import '../support/softefa.js';
import { TransferEngine } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { casesOf, slow } from '../support/cases.js';
import { enginePair } from '../support/engines.js';
import { tally, until } from '../support/lifecycle.js';

// Over tcp, 5000 at once were too many once.
const countsOf = (provider: string, nics: number) => {
  const most = provider === 'tcp' && nics === 1 ? [10_000] : [];
  return [10, 1000, ...(slow ? [20_000, 100_000] : most)];
};

const textOf = (i: number) => Buffer.from(`${i}`);

/** Reads that many messages. Returns how often each text came. */
async function read(engine: TransferEngine, count: number): Promise<Map<string, number>> {
  const texts = new Map<string, number>();
  for await (const { bytes } of engine.notifications()) {
    const text = String(bytes);
    texts.set(text, (texts.get(text) ?? 0) + 1);
    count -= 1;
    if (count === 0) break;
  }
  return texts;
}

async function readUntil(engine: TransferEngine, text: string): Promise<void> {
  for await (const { bytes } of engine.notifications()) if (String(bytes) === text) return;
}

const all = [
  ['tcp', 1],
  ['tcp', 3],
  ['shm', 1],
  ['efa', 1],
  ['efa', 4],
] as const;
const some = casesOf(all, ([, nics]) => nics === 1);

const MOST_IN_PACKET = 4040 / (2 + textOf(0).length);

describe.each(some)('%s, %i rails', (provider, nics) => {
  test.each(countsOf(provider, nics))(
    '%i messages at once arrive, each once, and every promise resolves',
    async (count) => {
      const { a, b, toA, toB } = await enginePair({ provider, nics });
      const indices = Array.from({ length: count }, (_, i) => i);
      const there = Promise.all(indices.map((i) => toB.notify(textOf(i))));
      const back = Promise.all(indices.map((i) => toA.notify(textOf(i))));
      for (const texts of await Promise.all([read(b, count), read(a, count)])) {
        expect(texts.size).toBe(count);
        expect([...texts.values()].every((times) => times === 1)).toBe(true);
      }
      await Promise.all([there, back]);
      for (const engine of [a, b]) {
        expect(engine.stats().notifications).toEqual({
          sent: count,
          received: count,
          unread: 0,
          dropped: 0,
        });
      }
    },
  );

  test('a peer that reads nothing makes the sender wait, no message is lost, and barriers pass in the meantime', async () => {
    const count = 8000;
    const { a, b, toA, toB } = await enginePair({ provider, nics });
    let resolved = 0;
    const sent = Array.from({ length: count }, (_, i) =>
      toB.notify(textOf(i)).then(() => {
        resolved += 1;
      }),
    );
    await until(() => resolved >= 4096 && b.stats().notifications.unread > resolved);
    const [left, right] = [a.group([toB]), b.group([toA])];
    for (let i = 0; i < 10; i++) await Promise.all([left.barrier(), right.barrier()]);
    const { unread, dropped } = b.stats().notifications;
    // Messages are taken by packets.
    expect(resolved).toBeLessThan(4096 + MOST_IN_PACKET);
    expect(unread).toBeLessThan(4096 + 4096 + MOST_IN_PACKET);
    expect(dropped).toBe(0);
    expect((await read(b, count)).size).toBe(count);
    expect(await tally(sent)).toEqual({ ok: count });
  });

  test('2000 barriers at once pass, in a burst of messages', async () => {
    const { a, b, toA, toB } = await enginePair({ provider, nics });
    const [left, right] = [a.group([toB]), b.group([toA])];
    const sent = Array.from({ length: 5000 }, (_, i) => toB.notify(textOf(i)));
    const barriers = Array.from({ length: 2000 }, () => [left.barrier(), right.barrier()]).flat();
    expect(await tally(barriers)).toEqual({ ok: 4000 });
    expect((await read(b, 5000)).size).toBe(5000);
    expect(await tally(sent)).toEqual({ ok: 5000 });
  });

  test('messages to an engine arrive before and after it has made the sender a peer', async () => {
    const a = await TransferEngine.open({ provider, nics });
    onTestFinished(() => a.close());
    const b = await TransferEngine.open({ provider, nics });
    onTestFinished(() => b.close());
    const toB = await a.peer(b.address);
    const send = (from: number) =>
      Array.from({ length: 3000 }, (_, i) => toB.notify(textOf(from + i)));
    const unknown = send(0);
    await until(() => b.stats().notifications.received > 100);
    await b.peer(a.address);
    const known = send(3000);
    expect((await read(b, 6000)).size).toBe(6000);
    expect(await tally([...unknown, ...known])).toEqual({ ok: 6000 });
  });

  test('messages that wait resolve when the peer forgets the sender, and it may know it again', async () => {
    const { a, b, toA, toB } = await enginePair({ provider, nics });
    const send = (count: number) => Array.from({ length: count }, (_, i) => toB.notify(textOf(i)));
    const sent = send(5000);
    await until(() => b.stats().notifications.unread > 4096);
    await toA.close();
    expect(await tally(sent)).toEqual({ ok: 5000 });
    expect((await read(b, 5000)).size).toBe(5000);
    await toB.close(); // the numbers of its messages go on
    await b.peer(a.address);
    const again = await a.peer(b.address);
    const more = Array.from({ length: 100 }, (_, i) => again.notify(textOf(i)));
    expect((await read(b, 100)).size).toBe(100);
    expect(await tally(more)).toEqual({ ok: 100 });
  });

  test('close() of a peer whose program reads nothing gives up the messages, and the peer may be known again', async () => {
    const { a, b, toB, toA } = await enginePair({ provider, nics });
    const sent = Array.from({ length: 3 * 4096 }, (_, i) => toB.notify(textOf(i)));
    await sent[0];
    const began = performance.now();
    await toB.close();
    expect(performance.now() - began).toBeLessThan(5000); // 30,000 without
    const { ok = 0, FI_ECANCELED = 0 } = await tally(sent);
    expect(ok + FI_ECANCELED).toBe(sent.length);
    const again = await a.peer(b.address);
    await Promise.all([again.notify(Buffer.from('again')), readUntil(b, 'again')]);
    expect(toA.state).toBe('connected');
  });

  test('messages that a closed engine has not taken are rejected', async () => {
    const { b, toB } = await enginePair({ provider, nics });
    const outcomes = tally(Array.from({ length: 6000 }, (_, i) => toB.notify(textOf(i))));
    await until(() => b.stats().notifications.unread > 4096);
    await b.close();
    const { ok, ...failed } = await outcomes;
    expect(ok).toBeGreaterThanOrEqual(4096);
    expect(ok).toBeLessThan(4096 + MOST_IN_PACKET);
    expect(failed).toEqual({ FI_ECONNRESET: 6000 - Number(ok) });
  });
});
