// The promises of endpoints (docs/promises.md), without faults: in bursts of each size, from two sides
// at once, and repeatedly.
import { describe, expect, test } from 'vitest';
import { onCommon, slow } from '../support/cases.js';
import { closing, endpoint, pair } from '../support/transfer.js';

const COUNTS = slow ? [10, 1000, 100_000] : [10, 1000];
const ROUNDS = slow ? 20 : 5;
/** Receives that are posted at a time. */
const POSTED = 500;

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
const numbered = (i: number) => Uint32Array.of(i);

describe.each(onCommon)('%s, %s driver', (provider, driver) => {
  test.for(COUNTS)(
    '%i messages at once in both directions arrive, each once and in order',
    async (count, context) => {
      const wire = await pair(context, provider, ['FI_MSG'], driver);
      const { a, b, toA, toB } = wire;
      const receive = async (at: typeof a) => {
        const seen: number[] = [];
        const slots = Array.from({ length: POSTED }, () => new Uint32Array(1));
        while (seen.length < count) {
          const posted = slots.slice(0, count - seen.length);
          await Promise.all(posted.map((slot) => at.recv(slot)));
          seen.push(...posted.map(([number]) => number as number));
        }
        return seen;
      };
      const received = [receive(a), receive(b)];
      const there = upTo(count).map((i) => a.send(numbered(i), toB));
      const back = upTo(count).map((i) => b.send(numbered(i), toA));
      for (const seen of await wire.done(Promise.all(received))) expect(seen).toEqual(upTo(count));
      await wire.done(Promise.all([...there, ...back]));
    },
  );

  test.for(COUNTS)(
    '%i messages at once to two streams: each message goes to one of them',
    async (count, context) => {
      const wire = await pair(context, provider, ['FI_MSG'], driver);
      const { a, b, toB } = wire;
      const seen: number[] = [];
      const streams = [b.messages({ count: 32, size: 64 }), b.messages({ count: 7, size: 64 })];
      const readAll = streams.map(async (stream) => {
        for await (const { bytes } of stream) {
          seen.push(new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true));
          if (seen.length === count) break;
        }
      });
      const sends = Promise.all(upTo(count).map((i) => a.send(numbered(i), toB)));
      await wire.done(Promise.race(readAll));
      await wire.done(Promise.all([sends, ...streams.map((stream) => stream.return())]));
      expect(seen.sort((x, y) => x - y)).toEqual(upTo(count));
    },
  );

  test.for(COUNTS)(
    '%i writes with data at once are in memory, and each number arrives as often as it was sent',
    async (count, context) => {
      const wire = await pair(context, provider, ['FI_RMA', 'FI_MSG'], driver);
      const { a, b, toB } = wire;
      const target = await b.domain.allocate(4 * count, ['FI_REMOTE_WRITE']);
      const remote = a.domain.remote(target.descriptor());
      const arrived = Promise.all(
        [1, 2].map((number) => b.receiveQueue.arrived(number, count / 2)),
      );
      const writes = upTo(count).map((i) =>
        a.writedata(numbered(i), 1 + (i % 2), toB, remote, { offset: 4 * i }),
      );
      await wire.done(Promise.all(writes));
      await wire.done(arrived);
      const found = new Uint32Array(target.bytes.buffer, target.bytes.byteOffset, count);
      expect([...found]).toEqual(upTo(count));
    },
  );

  test('an endpoint that was closed is opened again and again, and gets what is sent to it', async (context) => {
    const a = await endpoint(context, provider, ['FI_MSG'], driver);
    for (let round = 0; round < ROUNDS; round++) {
      const b = await endpoint(context, provider, ['FI_MSG'], driver);
      const peer = a.av.insert(b.address);
      const slots = upTo(10).map(() => new Uint32Array(1));
      const received = slots.map((slot) => b.recv(slot));
      const sent = upTo(10).map((i) => a.send(numbered(round * 10 + i), peer));
      const turning = setInterval(() => {
        if (driver === 'manual') for (const { domain } of [a, b]) domain.progress();
      });
      await Promise.all([...received, ...sent]).finally(() => clearInterval(turning));
      expect(slots.map(([number]) => number)).toEqual(upTo(10).map((i) => round * 10 + i));
      await a.av.remove(peer);
      await closing(b).close({ timeout: 500 });
    }
  });
});
