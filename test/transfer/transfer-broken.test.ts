// Engines whose NICs break: the completion queue of one cannot be polled any more.
import '../support/four-nics.js';
import { TransferEngine } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { testFaults } from '../support/softefa.js';

const SIZE = 1 << 20;
const LONG = 600_000; // ms: nothing below waits for a deadline
const faults = testFaults();

async function opened(nics: readonly string[]): Promise<TransferEngine> {
  const engine = await TransferEngine.open({ provider: 'efa', nics });
  onTestFinished(() => engine.close());
  return engine;
}

/** Two engines, with the NICs of each. */
async function met(ofA: number[], ofB: number[]) {
  const all = await TransferEngine.open({ provider: 'efa' });
  const names = all.rails.map(({ nic }) => nic);
  await all.close();
  const a = await opened(ofA.map((i) => names[i] as string));
  const b = await opened(ofB.map((i) => names[i] as string));
  return { a, b, toA: await b.peer(a.address), toB: await a.peer(b.address) };
}

/** Two engines that have done one transfer. */
async function engines(ofA: number[], ofB: number[]) {
  const { a, b, toA, toB } = await met(ofA, ofB);
  const into = new Uint8Array(SIZE);
  const memory = await b.register(into);
  const from = await a.register(pattern(SIZE));
  const offer = () => memory.offer({ access: 'write', to: toA, expires: LONG });
  const first = await offer();
  await toB.write(from, first.token);
  await first.released;
  return { a, b, toA, toB, from, into, offer };
}

const CAUSE = { code: 'FI_EIO', message: expect.stringContaining('the rail is broken') };

/** The next state of a rail that the engine reports. */
async function nextRail(engine: TransferEngine) {
  for await (const event of engine.events()) if (event.type === 'rail') return event;
  throw new Error('the engine has closed');
}

test('an error of the provider that belongs to no transfer is an event, with the rail', async () => {
  const { b, toB } = await met([0], [1]);
  const events = b.events();
  faults.add('post', { nic: 1, value: 'FI_EIO', count: 1 }); // of the handshake
  toB.notify(Uint8Array.of(1)).catch(() => {}); // efa (1.17) waits for the handshake
  let event = (await events.next()).value;
  while (event?.type === 'rail') event = (await events.next()).value; // it may stall meanwhile
  expect(event).toMatchObject({
    type: 'error',
    rail: { index: 0, nic: b.rails[0]?.nic },
    error: { code: 'FI_EIO', syscall: 'fi_eq_readerr' },
  });
});

describe('the only NIC of an engine breaks', () => {
  test('its open offers end with the cause, and their memory is released', async () => {
    const { b, offer } = await engines([0], [1]);
    const offers = [await offer(), await offer()];
    const event = nextRail(b);
    faults.add('poll', { nic: 1, value: 'FI_EIO' });
    expect(await event).toMatchObject({
      rail: { state: 'broken' },
      previous: 'up',
      peer: undefined,
    });
    for (const each of offers) {
      await expect(each.arrived).rejects.toMatchObject(CAUSE);
      await each.released;
    }
    expect(b.rails[0]?.state).toBe('broken');
  });

  test('its transfers and messages fail with the cause', async () => {
    const { a, toB, from, offer } = await engines([0], [1]);
    const { token } = await offer();
    faults.add('freeze', { nic: 1 });
    const outcomes = Promise.allSettled([toB.write(from, token, { timeout: LONG })]);
    await expect.poll(() => a.rails[0]?.stalls).toBeGreaterThan(0);
    faults.add('poll', { nic: 0, value: 'FI_EIO' });
    expect((await outcomes)[0]).toMatchObject({ reason: CAUSE });
    await expect(toB.notify(Buffer.from('hello'))).rejects.toMatchObject(CAUSE);
  });

  test('later operations fail at once', async () => {
    const { b, toA, offer } = await engines([0], [1]);
    const event = nextRail(b);
    faults.add('poll', { nic: 1, value: 'FI_EIO' });
    await event;
    // If the endpoint does not close in time either, its domain accepts no registration.
    await expect(offer().then(({ arrived }) => arrived)).rejects.toMatchObject({
      code: expect.stringMatching(/^FI_(EIO|EOTHER)$/),
    });
    await expect(toA.notify(Buffer.from('hello'))).rejects.toMatchObject(CAUSE);
  });
});

test.each([
  ["the sender's", [0, 1], [2, 3], 1],
  ["the receiver's", [0, 1], [2, 3], 3],
])('one of two NICs of %s engine breaks: the other one does its work', async (_, ofA, ofB, nic) => {
  const { a, b, toB, from, into, offer } = await engines(ofA, ofB);
  const engine = ofA.includes(nic) ? a : b;
  const event = nextRail(engine);
  faults.add('poll', { nic, value: 'FI_EIO' });
  expect((await event).rail).toMatchObject({ index: 1, state: 'broken' });
  for (let i = 0; i < 3; i++) {
    into.fill(0);
    const open = await offer();
    const transfer = toB.write(from, open.token, { timeout: LONG });
    transfer.catch(() => {});
    await transfer.arrived;
    await open.arrived;
    expect(same(into, pattern(SIZE))).toBe(true);
  }
  // A message to a NIC that breaks in the meantime may be dropped.
  if (engine === a) {
    const notifications = b.notifications();
    await Promise.all(Array.from({ length: 8 }, (_, i) => toB.notify(Uint8Array.of(i))));
    for (let i = 0; i < 8; i++) await notifications.next();
  }
  expect(engine.rails[1]?.state).toBe('broken');
});

// efa (1.17) refuses a message until the peer has answered a handshake.
test.each([2, 3])(
  'a message takes the other path if NIC %i of the peer is silent',
  async (silent) => {
    const { b, toB } = await met([0], [2, 3]);
    faults.add('freeze', { nic: silent });
    const notifications = b.notifications();
    await toB.notify(Buffer.from('hello'));
    expect(Buffer.from((await notifications.next()).value?.bytes ?? []).toString()).toBe('hello');
  },
);

test('open() rejects with the cause if the NIC breaks meanwhile', async () => {
  const { a } = await met([0], [1]);
  const nics = [a.rails[0]?.nic as string];
  faults.add('poll', { nic: 0, value: 'FI_EIO' });
  let reason: unknown;
  while (reason === undefined) {
    // Not every time: the NIC may also break later.
    await TransferEngine.open({ provider: 'efa', nics }).then(
      (engine) => engine.close(),
      (error) => {
        reason = error;
      },
    );
  }
  expect(reason).toMatchObject({ code: 'FI_EIO', message: expect.stringMatching(/be polled/) });
});
