import { expect, test } from 'vitest';
import { Barriers } from '../../dist/transfer/barriers.js';
import { EarlyBarriers } from '../../dist/transfer/early-barriers.js';
import { TransferError } from '../../dist/transfer/errors.js';

const GROUP = Buffer.alloc(16, 7);
const OTHER = Buffer.alloc(16, 8);

/** The barriers of an engine. Names that it sends are kept. */
function engine() {
  let waiting = 0;
  const barriers = new Barriers((change) => {
    waiting += change;
  });
  const names: Uint8Array[] = [];
  const next = (members: readonly bigint[], group: Uint8Array = GROUP) => {
    const barrier = barriers.next(group, members, async (name) => void names.push(name));
    return { ...barrier, name: names.at(-1) as Uint8Array };
  };
  return { barriers, names, next, waiting: () => waiting };
}

const hasPassed = ({ passed }: { passed: Promise<void> }) =>
  Promise.race([passed.then(() => true), new Promise((done) => setImmediate(done, false))]);

/** Two engines. What each sends arrives with exchange(), unless it was lost before. */
function two() {
  const [a, b] = [engine(), engine()];
  const exchange = () => {
    while (a.names.length + b.names.length > 0) {
      for (const name of a.names.splice(0)) b.barriers.arrived(1n, name);
      for (const name of b.names.splice(0)) a.barriers.arrived(2n, name);
    }
  };
  return { a, b, exchange, callA: () => a.next([2n]), callB: () => b.next([1n]) };
}

test('groups of the same engines share their rounds', async () => {
  const { barriers, next } = engine();
  const [first, second] = [next([1n]), next([1n])];
  expect(second.name).not.toEqual(first.name);
  barriers.arrived(1n, first.name);
  expect(await hasPassed(first)).toBe(true);
  expect(await hasPassed(second)).toBe(false);
  barriers.arrived(1n, second.name);
  await second.passed;
});

test('who has called barrier() twice has called it once: no message is needed to come, or to come in order', async () => {
  const { barriers, next } = engine();
  const [first, second] = [next([1n]), next([1n])];
  barriers.arrived(1n, second.name);
  await Promise.all([first.passed, second.passed]);
  barriers.arrived(1n, first.name);
  expect(await hasPassed(next([1n]))).toBe(false);
});

test('a peer may arrive before this engine', async () => {
  const { barriers, next } = engine();
  barriers.arrived(1n, engine().next([2n]).name);
  await next([1n]).passed;
});

test('a call that has failed no longer waits, and the next one meets those that wait in their first', async () => {
  const { barriers, next, waiting } = engine();
  const given = next([1n]);
  expect(waiting()).toBe(1);
  given.end(false);
  expect(waiting()).toBe(0);
  barriers.arrived(1n, given.name);
  const call = next([1n]);
  await call.passed;
  call.end(true);
  expect(await hasPassed(next([1n]))).toBe(false);
});

test.each([1, 2, 3])('%i calls that have failed keep no two engines apart', async (failures) => {
  for (const isEarly of [true, false]) {
    const { a, b, exchange, callA, callB } = two();
    // b never gets the messages of calls that a has given up: a had closed it, for example.
    for (let i = 0; i < failures; i++) callA().end(false);
    a.names.length = 0;
    const first = isEarly ? callA() : callB();
    if (isEarly) exchange();
    const calls = [first, isEarly ? callB() : callA()];
    exchange();
    await Promise.all(calls.map(({ passed }) => passed));
    for (const { end } of calls) end(true);
    for (let round = 0; round < 3; round++) {
      const alone = callB();
      exchange();
      expect(await hasPassed(alone)).toBe(false);
      const other = callA();
      exchange();
      await Promise.all([alone.passed, other.passed]);
      for (const { end } of [alone, other]) end(true);
    }
    expect([a.waiting(), b.waiting()]).toEqual([0, 0]);
  }
});

test('calls at once of which some have failed pass with as many of the peer', async () => {
  const { exchange, callA, callB } = two();
  const [one, , three] = [callA(), callA(), callA()];
  exchange();
  one.end(false);
  const [first, second, third] = [callB(), callB(), callB()];
  exchange();
  await Promise.all([three, first, second].map(({ passed }) => passed));
  expect(await hasPassed(third)).toBe(false);
  callA();
  exchange();
  await third.passed;
});

test('a call of which a member takes no message fails, and its round is that of the next call', async () => {
  const { barriers, next } = engine();
  const gone = new TransferError(104, false, { detail: 'gone' });
  const { passed, end } = barriers.next(GROUP, [1n], () => Promise.reject(gone));
  barriers.arrived(1n, engine().next([2n]).name);
  await expect(passed).rejects.toBe(gone);
  end(false);
  await next([1n]).passed;
});

test('a peer that leaves ends the barriers that wait for it, and no others', async () => {
  const { barriers, next } = engine();
  const gone = new TransferError(104, false, { detail: 'gone' });
  const [both, other] = [next([1n, 2n]), next([2n], OTHER)];
  const third = Buffer.alloc(16, 9);
  const arrived = next([1n, 2n], third);
  barriers.arrived(1n, arrived.name);
  barriers.left(1n, () => gone);
  await expect(both.passed).rejects.toBe(gone);
  for (const { name } of [other, arrived]) barriers.arrived(2n, name);
  await Promise.all([other.passed, arrived.passed]);
});

test('a message that is no name of a barrier is ignored', async () => {
  const { barriers, next } = engine();
  for (const length of [0, 3, 20, 25, 27]) barriers.arrived(1n, new Uint8Array(length));
  const call = next([1n]);
  for (const [version, round] of [
    [0, 1],
    [1, 0],
    [2, 2 ** 32 - 1],
  ] as const) {
    const name = Buffer.concat([GROUP, Buffer.alloc(10)]);
    name.writeUIntLE(version, 16, 6);
    name.writeUInt32LE(round, 22);
    barriers.arrived(1n, name);
  }
  expect(await hasPassed(call)).toBe(false);
});

test('of groups whose barriers this engine has not reached, the first 65,536 are remembered', async () => {
  const { barriers, next } = engine();
  const name = Buffer.from(engine().next([2n]).name);
  for (let i = 0; i < 65_536; i++) {
    name.writeUInt32LE(i);
    barriers.arrived(1n, Buffer.from(name));
  }
  barriers.arrived(1n, engine().next([2n]).name);
  const waits = next([1n]);
  expect(await hasPassed(waits)).toBe(false);
  barriers.arrived(1n, waits.name);
  await waits.passed;
});

test('of engines that are no peers, 256 names of each are kept, and 65,536 of all', () => {
  const early = new EarlyBarriers();
  const name = (i: number) => Buffer.alloc(26, i);
  early.add(0n, [new Uint8Array(25)]);
  expect(early.take(0n)).toEqual([]);
  for (let i = 0; i < 300; i++) early.add(0n, [name(i)]);
  for (let from = 1n; from < 256n; from++)
    early.add(
      from,
      Array.from({ length: 256 }, () => name(1)),
    );
  expect(early.take(0n)).toEqual(Array.from({ length: 256 }, (_, i) => name(i + 44)));
  for (let from = 256n; from < 258n; from++)
    early.add(
      from,
      Array.from({ length: 256 }, () => name(1)),
    );
  expect(early.take(1n)).toEqual([]);
  expect(early.take(2n).length).toBe(256);
});

test('close() ends the calls that wait', async () => {
  const { barriers, next } = engine();
  const { passed } = next([1n]);
  barriers.close();
  await expect(passed).rejects.toMatchObject({ code: 'FI_ECANCELED' });
});
