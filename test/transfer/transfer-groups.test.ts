import { TransferEngine } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { runCleanly } from '../support/lifecycle.js';

const MEMBERS = 4;

/** Engines of which each one knows all others. */
async function members(provider: string) {
  const engines = await Promise.all(
    Array.from({ length: MEMBERS }, () => TransferEngine.open({ provider, nics: 1 })),
  );
  for (const engine of engines) onTestFinished(() => engine.close());
  return Promise.all(
    engines.map(async (engine) => {
      const others = engines.filter((other) => other !== engine);
      const peers = await Promise.all(others.map(({ address }) => engine.peer(address)));
      return { engine, others, group: engine.group(peers) };
    }),
  );
}

describe.each(['shm', 'tcp'])('%s', (provider) => {
  test('no engine leaves a barrier before all have arrived', async () => {
    const all = await members(provider);
    let inside = 0;
    for (let round = 1; round <= 20; round++) {
      const order = round % 2 === 0 ? all : [...all].reverse();
      await Promise.all(
        order.map(async ({ group }) => {
          inside += 1;
          await group.barrier();
          expect(inside).toBeGreaterThanOrEqual(round * MEMBERS);
        }),
      );
    }
  });

  test('scatter() writes its part to each peer', async () => {
    const [root, ...rest] = await members(provider);
    if (root === undefined) throw new Error('no engines');
    const size = 300_000;
    const from = await root.engine.register(pattern(size * rest.length));
    const memories = await Promise.all(rest.map(({ engine }) => engine.allocate(size)));
    const offers = await Promise.all(
      rest.map(async ({ engine }, i) => {
        const to = await engine.peer(root.engine.address);
        return memories[i]?.offer({ access: 'write', to });
      }),
    );
    const parts = offers.map((offer, i) => ({
      from: from.slice(i * size, (i + 1) * size),
      token: offer?.token ?? '',
    }));
    await root.group.scatter(parts);
    for (const [i, offer] of offers.entries()) {
      const arrival = await offer?.arrived;
      const expected = from.bytes.subarray(i * size, (i + 1) * size);
      expect(same(arrival?.bytes as Uint8Array, expected)).toBe(true);
    }
    await expect(root.group.scatter([])).rejects.toThrow(/3 elements/);
  });

  test('a call of a group that is refused has begun with no peer', async () => {
    const [root, ...rest] = await members(provider);
    if (root === undefined) throw new Error('no engines');
    const { engine, group } = root;
    const from = await engine.register(pattern(1000));
    const offers = await Promise.all(
      rest.map(async (each) => {
        const memory = await each.engine.allocate(1000);
        return memory.offer({ access: 'write', to: await each.engine.peer(engine.address) });
      }),
    );
    const parts = offers.map(({ token }) => ({ from, token }));
    const changed = (last: object) => [...parts.slice(0, -1), { ...parts.at(-1), ...last }];
    const refused = [
      [changed({ token: 'not a token' }), /token/],
      [changed({ from: await engine.register(new Uint8Array(1001)) }), /at most 1000 bytes/],
      [changed({ from: undefined }), /from must be TransferMemory/],
      [parts.slice(1), /3 elements/],
      [[...parts.slice(1), undefined], /parts\[2\]|token/],
    ] as const;
    for (const [wrong, message] of refused) {
      await expect(group.scatter(wrong as typeof parts)).rejects.toThrow(message);
    }
    await expect(group.notify(new Uint8Array(3073))).rejects.toThrow(/3072/);
    await group.peers.at(-1)?.close();
    for (const call of [group.scatter(parts), group.notify(new Uint8Array(1)), group.barrier()]) {
      await expect(call).rejects.toThrow(/the peer is closed/);
    }
    const { transfers, notifications } = engine.stats();
    expect(transfers).toMatchObject({ running: 0, waiting: 0, done: 0, failed: 0 });
    expect(notifications.sent).toBe(0);
  });

  test('a barrier that is refused does not count as a call of it', async () => {
    const [first, ...rest] = await members(provider);
    if (first === undefined) throw new Error('no engines');
    const { engine, group, others } = first;
    await group.peers[0]?.close();
    await expect(group.barrier()).rejects.toThrow(/the peer is closed/);
    const again = engine.group(
      await Promise.all(others.map(({ address }) => engine.peer(address))),
    );
    await Promise.all([again.barrier(), ...rest.map((each) => each.group.barrier())]);
  });

  test('a barrier that nobody else reaches times out, and ends with its engine', async () => {
    const [first] = await members(provider);
    if (first === undefined) throw new Error('no engines');
    await expect(first.group.barrier({ timeout: 20 })).rejects.toMatchObject({
      code: 'FI_ETIMEDOUT',
    });
    const waiting = expect(first.group.barrier()).rejects.toMatchObject({ code: 'FI_ECANCELED' });
    await first.engine.close();
    await waiting;
  });
});

test('the engine itself and a peer twice are refused, each with its reason', async () => {
  const [one, two] = await members('shm');
  const [peer] = one?.group.peers ?? [];
  const self = await one?.engine.peer(String(one.engine.address));
  expect(() => one?.engine.group([self as never])).toThrow(/has this engine, which is a member/);
  expect(() => one?.engine.group([peer, peer] as never)).toThrow(/has a peer twice/);
  expect(two?.group.peers.length).toBe(MEMBERS - 1);
});

test('a barrier that is refused does not keep the process alive', () =>
  runCleanly('transfer-alive', ['refused barrier'], { stdout: 'refused barrier' }));
