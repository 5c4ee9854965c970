// A peer whose engine was closed is lost, and other peers are served as before.
import '../support/softefa.js';
import { type EngineEvent, TransferEngine } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { enginePair, MAPPED_OR_NOT } from '../support/engines.js';
import { tally, until } from '../support/lifecycle.js';

const SIZE = 1 << 20;

const some = casesOf(MAPPED_OR_NOT, ([provider, mapped]) => mapped === (provider === 'shm'));

describe.each(some)('%s, memory mapped: %s', (provider, mapMemory) => {
  test('a closed peer is lost at once, gets nothing more, and the others are served', async () => {
    const options = { provider, nics: 1, mapMemory };
    const { a, b, toA, toB } = await enginePair(options);
    const other = await TransferEngine.open(options);
    onTestFinished(() => other.close());
    const [toOther, back] = [await a.peer(other.address), await other.peer(a.address)];
    const from = await a.register(pattern(SIZE));
    const into = await other.register(new Uint8Array(SIZE));
    const theirs = await b.register(new Uint8Array(SIZE));
    const { token } = await theirs.offer({ access: 'write', to: toA });
    const ours = await from.slice(0, 4096).offer({ access: 'read', to: toB });
    const events = a.events();
    const code = 'FI_ECONNRESET';
    const barrier = expect(a.group([toB, toOther]).barrier()).rejects.toMatchObject({ code });

    await b.close();
    await barrier;
    await until(() => toB.state === 'lost');
    // On a busy machine the peers may have been slow to connect, and earlier events report that.
    const isOfClosing = (event: EngineEvent) =>
      event.type === 'peer' && event.peer === toB && event.reason === 'its engine was closed';
    while (!isOfClosing((await events.next()).value)) {}
    await expect(toB.write(from, token)).rejects.toMatchObject({ code, ambiguous: false });
    const sent = Array.from({ length: 5000 }, () => toB.notify(pattern(8)));
    expect(await tally(sent)).toEqual({ [code]: 5000 });
    await expect(ours.arrived).rejects.toMatchObject({ code });
    await ours.released;
    await toB.close();

    // Over shm (1.17), a message that a closed endpoint does not answer would hold up all that follow.
    for (let round = 0; round < 5; round++) {
      into.bytes.fill(0);
      const offer = await into.offer({ access: 'write', to: back });
      const notification = toOther.notify(pattern(8));
      await Promise.all([toOther.write(from, offer.token), notification, offer.released]);
      expect(same(into.bytes, pattern(SIZE))).toBe(true);
    }
  });

  test('engines that close at once do not wait for each other', async () => {
    for (let round = 0; round < 5; round++) {
      const { a, b, toA, toB } = await enginePair({ provider, nics: 1, mapMemory });
      await Promise.all([toA.notify(pattern(8)), toB.notify(pattern(8))]);
      await Promise.all([a.close(), b.close()]);
      expect(a.closed && b.closed).toBe(true);
    }
  });
});
