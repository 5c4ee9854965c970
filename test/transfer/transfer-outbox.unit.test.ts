import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { peerClosed } from '../../dist/transfer/errors.js';
import { Once } from '../../dist/transfer/once.js';
import { Outbox, Taken } from '../../dist/transfer/outbox.js';
import { messagesOf } from '../../dist/transfer/packet.js';
import { holds } from '../support/properties.js';

const WINDOW = 1024; // packets
let uses = 0;
const PEER = {
  used(change: number) {
    uses += change;
  },
} as never;

beforeEach(() => {
  vi.useFakeTimers();
  uses = 0;
});
afterEach(() => {
  vi.useRealTimers();
});

function outboxOf() {
  const posted: number[] = [];
  let waits = 0;
  const outbox = new Outbox(
    (_peer, _bytes, sequence) => posted.push(sequence),
    (change) => {
      waits += change;
    },
  );
  const outcomes: string[] = [];
  // Sends messages, each in a packet of its own.
  const send = (count = 1) => {
    for (let i = 0; i < count; i++, outbox.flush()) {
      const at = outcomes.push('pending') - 1;
      outbox.send(PEER, Uint8Array.of(i)).then(
        () => {
          outcomes[at] = 'ok';
        },
        ({ code, ambiguous }) => {
          outcomes[at] = `${code} ${ambiguous}`;
        },
      );
    }
  };
  const settled = async (): Promise<Record<string, number>> => {
    await vi.advanceTimersByTimeAsync(0);
    const counts: Record<string, number> = {};
    for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
    return counts;
  };
  return { outbox, posted, send, settled, waits: () => waits };
}

test('1024 packets are in flight, and the next one is sent for each that the peer takes, in order', async () => {
  const { outbox, posted, send, settled, waits } = outboxOf();
  send(3000);
  expect(posted.length).toBe(WINDOW);
  expect(waits()).toBe(1);
  outbox.taken(Taken.Some, [2, 3]); // the first one holds the window
  expect(posted.length).toBe(WINDOW);
  outbox.taken(Taken.Some, [1]);
  expect(posted.length).toBe(WINDOW + 3);
  while (posted.length < 3000) outbox.taken(Taken.Some, posted.slice(-WINDOW));
  outbox.taken(Taken.Some, posted);
  expect(posted).toEqual(Array.from({ length: 3000 }, (_, i) => i + 1));
  expect(await settled()).toEqual({ ok: 3000 });
  expect(waits()).toBe(0);
  expect(uses).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

test('delivery counts for a peer that confirms nothing, and not for one that does', async () => {
  const { outbox, send, settled } = outboxOf();
  send(3);
  outbox.delivered(1, 0, '');
  expect(await settled()).toEqual({ pending: 3 });
  await vi.advanceTimersByTimeAsync(251); // it has not answered
  expect(await settled()).toEqual({ ok: 1, pending: 2 });
  outbox.taken(Taken.Some, []);
  outbox.delivered(2, 0, '');
  expect(await settled()).toEqual({ ok: 1, pending: 2 });
  outbox.taken(Taken.Last, []); // it forgets this engine
  outbox.delivered(3, 0, '');
  expect(await settled()).toEqual({ ok: 3 });
});

test('a peer whose first confirmation comes soon confirms what was delivered before', async () => {
  const { outbox, send, settled } = outboxOf();
  send(2);
  outbox.delivered(1, 0, '');
  outbox.delivered(2, 0, '');
  await vi.advanceTimersByTimeAsync(49);
  outbox.taken(Taken.Some, [1]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(await settled()).toEqual({ ok: 1, pending: 1 });
  outbox.taken(Taken.Some, [2]);
  expect(await settled()).toEqual({ ok: 2 });
  expect(vi.getTimerCount()).toBe(0);
});

test('a first confirmation that waits behind an overdue timer counts', async () => {
  const { outbox, send, settled } = outboxOf();
  send(2);
  outbox.delivered(1, 0, '');
  vi.advanceTimersByTime(50); // the event loop was busy, and reads the confirmation next
  outbox.taken(Taken.Some, []);
  await vi.advanceTimersByTimeAsync(1000);
  expect(await settled()).toEqual({ pending: 2 });
  outbox.taken(Taken.Some, [1, 2]);
  expect(await settled()).toEqual({ ok: 2 });
});

test('messages that a closed engine has not taken are rejected', async () => {
  const { outbox, send, settled, waits } = outboxOf();
  send(2000);
  outbox.taken(Taken.Some, [1]);
  outbox.delivered(2, 0, '');
  outbox.taken(Taken.Closed, []);
  const { ok, ...failed } = await settled();
  expect(ok).toBe(1);
  expect(uses).toBe(0);
  expect(failed).toEqual({ 'FI_ECONNRESET true': 1024, 'FI_ECONNRESET false': 975 });
  expect(waits()).toBe(0);
});

test('messages to a peer that is closed are given up, and those of its successor go on', async () => {
  const { outbox, posted, send, settled, waits } = outboxOf();
  send(1500);
  outbox.taken(Taken.Some, [2]);
  const successor = { used: () => {} } as never;
  const next = outbox.send(successor, Uint8Array.of(1));
  const unawaited = outbox.send(PEER, Uint8Array.of(2));
  outbox.forget(PEER, (ambiguous) => peerClosed('closed', ambiguous));
  expect(await settled()).toEqual({
    ok: 1,
    'FI_ECANCELED true': WINDOW - 1,
    'FI_ECANCELED false': 1500 - WINDOW,
  });
  expect(unawaited).toBeInstanceOf(Promise); // its rejection counts as handled
  expect([posted.length, uses]).toEqual([WINDOW + 1, 0]);
  outbox.taken(Taken.Some, [1, 3, ...posted.slice(-1)]);
  await next;
  expect([waits(), vi.getTimerCount()]).toEqual([0, 0]);
});

test('a message that no rail could send fails with those that wait for it', async () => {
  const { outbox, send, settled } = outboxOf();
  send(1500);
  outbox.delivered(1, 110, 'the peer takes no messages');
  expect(await settled()).toEqual({
    'FI_ETIMEDOUT true': 1,
    'FI_ETIMEDOUT false': 1500 - WINDOW,
    pending: WINDOW - 1,
  });
});

test('messages of one turn of the event loop share packets, and settle with them', async () => {
  const packets: { peer: unknown; messages: string[] }[] = [];
  const other = { used: () => {} } as never;
  const outbox = new Outbox(
    (peer, bytes) =>
      packets.push({ peer, messages: (messagesOf(bytes) ?? []).map((each) => `${each.length}`) }),
    () => {},
  );
  const settled: string[] = [];
  const send = (peer: never, length: number) =>
    outbox.send(peer, new Uint8Array(length)).then(() => settled.push(`${length}`));
  for (const length of [64, 0, 3000]) send(PEER, length); // 3072 of 4040 bytes
  send(PEER, 1000); // does not fit
  expect(packets).toEqual([{ peer: PEER, messages: ['64', '0', '3000'] }]);
  send(other, 1);
  expect(packets.length).toBe(2);
  await vi.advanceTimersByTimeAsync(0);
  expect(packets.slice(1)).toEqual([
    { peer: PEER, messages: ['1000'] },
    { peer: other, messages: ['1'] },
  ]);
  outbox.taken(Taken.Some, [1, 3]);
  await vi.advanceTimersByTimeAsync(0);
  expect(settled).toEqual(['64', '0', '3000', '1']);
  send(PEER, 3072);
  await vi.advanceTimersByTimeAsync(0);
  expect(packets.at(-1)).toEqual({ peer: PEER, messages: ['3072'] });
});

test('while 4096 messages are in flight, packets wait', () => {
  let posted = 0;
  const outbox = new Outbox(
    () => {
      posted += 1;
    },
    () => {},
  );
  for (let i = 0; i < 8000; i++) outbox.send(PEER, new Uint8Array(1)).catch(() => {});
  expect(posted).toBe(4); // each of 1346 messages
  outbox.taken(Taken.Some, [1]);
  expect(posted).toBe(5);
});

test('a message that was written before the engine stops is sent, and one before it fails is not', async () => {
  const { outbox, posted, settled } = outboxOf();
  const sent = outbox.send(PEER, Uint8Array.of(1));
  outbox.stop('FI_ECANCELED', 'closed');
  expect(posted).toEqual([1]);
  const unsent = outbox.send(PEER, Uint8Array.of(2));
  outbox.fail('FI_ECANCELED', 'closed');
  await expect(sent).rejects.toMatchObject({ code: 'FI_ECANCELED', ambiguous: true });
  await expect(unsent).rejects.toMatchObject({ code: 'FI_ECANCELED', ambiguous: false });
  await settled();
  expect(posted).toEqual([1]);
  expect(uses).toBe(0);
});

test('bytes that are not a packet have no messages', () => {
  expect(messagesOf(new Uint8Array())).toEqual([]);
  expect(messagesOf(Uint8Array.of(1, 0, 7, 0, 0))).toEqual([Buffer.of(7), Buffer.alloc(0)]);
  for (const bytes of [[0], [1, 0], [2, 0, 7], [0, 1], [1, 0, 7, 5]])
    expect(messagesOf(Uint8Array.from(bytes)), `${bytes}`).toBeUndefined();
});

test('30 seconds without a confirmation end all messages, and progress begins them anew', async () => {
  const { outbox, send, settled, waits } = outboxOf();
  send(1500);
  outbox.taken(Taken.Some, [1]);
  for (let i = 2; i <= 10; i++) {
    await vi.advanceTimersByTimeAsync(29_000);
    outbox.taken(Taken.Some, [i]);
  }
  expect(await settled()).toEqual({ ok: 10, pending: 1490 });
  await vi.advanceTimersByTimeAsync(30_001); // and one poll of the event loop
  expect(await settled()).toEqual({
    ok: 10,
    'FI_ETIMEDOUT true': WINDOW,
    'FI_ETIMEDOUT false': 1490 - WINDOW,
  });
  expect(waits()).toBe(0);
  send();
  outbox.taken(Taken.Some, [WINDOW + 11]);
  expect((await settled()).ok).toBe(11);
});

test('bytes of a message that waits are those of the call', () => {
  const sent: number[] = [];
  const outbox = new Outbox(
    (_peer, bytes) => sent.push(bytes[2] as number),
    () => {},
  );
  const bytes = new Uint8Array(1);
  for (let i = 0; i < 2000; i++) {
    bytes[0] = i;
    outbox.send(PEER, bytes).catch(() => {});
    outbox.flush();
  }
  bytes[0] = 0;
  outbox.taken(
    Taken.Some,
    Array.from({ length: WINDOW }, (_, i) => i + 1),
  );
  expect(sent).toEqual(Array.from({ length: 2000 }, (_, i) => i & 0xff));
});

test('every message passes once, however the network orders and repeats those in flight', () => {
  const step = fc.record({
    send: fc.nat(3000),
    from: fc.nat(),
    copies: fc.integer({ min: 1, max: 3 }),
  });
  const property = fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
    const network: number[] = [];
    const outbox = new Outbox(
      (_peer, _bytes, sequence) => network.push(sequence),
      () => {},
    );
    const receiver = new Once();
    const passed: number[] = [];
    let sent = 0;
    const deliver = (at: number, copies: number) => {
      const [sequence] = network.splice(at, 1) as [number];
      for (let i = 0; i < copies; i++) if (receiver.isNew(sequence)) passed.push(sequence);
      outbox.taken(Taken.Some, [sequence]);
    };
    for (const { send, from, copies } of steps) {
      for (let i = 0; i < send; i++, outbox.flush()) {
        outbox.send(PEER, new Uint8Array()).catch(() => {});
      }
      sent += send;
      for (let i = 0; i < 500 && network.length > 0; i++) {
        deliver((from * (i + 1)) % network.length, copies);
      }
    }
    while (network.length > 0) deliver(network.length - 1, 1);
    expect(passed.toSorted((a, b) => a - b)).toEqual(Array.from({ length: sent }, (_, i) => i + 1));
  });
  holds(property, 50);
});

test('a message keeps its bytes when the memory of its packet changes', () => {
  const packet = Buffer.from([1, 0, 7, 1, 0, 8]);
  const messages = messagesOf(packet);
  packet.fill(0);
  expect(messages).toEqual([Buffer.of(7), Buffer.of(8)]);
});
