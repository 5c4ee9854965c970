import { expect, test } from 'vitest';
import { Barriers } from '../../dist/transfer/barriers.js';
import { TransferError } from '../../dist/transfer/errors.js';

const GROUP = Buffer.alloc(16, 7);

function counted() {
  let waiting = 0;
  const barriers = new Barriers((change) => {
    waiting += change;
  });
  return { barriers, waiting: () => waiting };
}

test('groups of the same engines share their rounds', async () => {
  const { barriers } = counted();
  const first = barriers.next(GROUP, [1n]);
  const second = barriers.next(GROUP, [1n]);
  expect(second.name).not.toEqual(first.name);
  barriers.arrived(1n, second.name);
  await second.passed;
  barriers.arrived(1n, first.name);
  await first.passed;
});

test('a peer may arrive before this engine', async () => {
  const { barriers } = counted();
  const { name } = counted().barriers.next(GROUP, [2n]);
  barriers.arrived(1n, name);
  await barriers.next(GROUP, [1n]).passed;
});

test('an abandoned call no longer waits, and a late arrival does not count for the next', async () => {
  const { barriers, waiting } = counted();
  const given = barriers.next(GROUP, [1n]);
  expect(waiting()).toBe(1);
  given.forget();
  expect(waiting()).toBe(0);
  barriers.arrived(1n, given.name);
  const next = barriers.next(GROUP, [1n]);
  const passed = next.passed.then(() => 'passed');
  expect(await Promise.race([passed, Promise.resolve('waits')])).toBe('waits');
  barriers.arrived(1n, next.name);
  expect(await passed).toBe('passed');
});

test('a peer that leaves ends the barriers that wait for it, and no others', async () => {
  const { barriers } = counted();
  const gone = new TransferError(104, false, { detail: 'gone' });
  const [both, other] = [barriers.next(GROUP, [1n, 2n]), barriers.next(GROUP, [2n])];
  const arrived = barriers.next(GROUP, [1n, 2n]);
  barriers.arrived(1n, arrived.name);
  barriers.left(1n, () => gone);
  await expect(both.passed).rejects.toBe(gone);
  for (const { name } of [other, arrived]) barriers.arrived(2n, name);
  await Promise.all([other.passed, arrived.passed]);
});

test('a message that is no name of a barrier is ignored', () => {
  const { barriers } = counted();
  for (const length of [0, 3, 19, 21]) barriers.arrived(1n, new Uint8Array(length));
});

test('of barriers that this engine has not reached, the first 65,536 are remembered', async () => {
  const { barriers } = counted();
  const name = Buffer.alloc(20);
  for (let i = 0; i < 65_536; i++) {
    name.writeUInt32LE(i);
    barriers.arrived(1n, Buffer.from(name));
  }
  const late = counted().barriers.next(GROUP, [2n]);
  barriers.arrived(1n, late.name);
  const waits = barriers.next(GROUP, [1n]);
  const passed = waits.passed.then(() => 'passed');
  expect(await Promise.race([passed, Promise.resolve('waits')])).toBe('waits');
  barriers.arrived(1n, waits.name);
  expect(await passed).toBe('passed');
});

test('close() ends the calls that wait', async () => {
  const { barriers } = counted();
  const { passed } = barriers.next(GROUP, [1n]);
  barriers.close();
  await expect(passed).rejects.toMatchObject({ code: 'FI_ECANCELED' });
});
