// The effect of aborting a posted send or write. Libfabric cannot cancel it. efa of 2.7 ends it if the registration
// of its memory closes (fi_efa(7), MR ABORTING); other versions complete it.
import '../support/softefa.js';
import { type MemoryRegion, open, released } from 'libfabric';
import { expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import type { Received } from '../support/other-process.js';
import { startPair, transfer } from '../support/process-pair.js';
import { endsAborted } from '../support/release.js';
import { isPending, settle } from '../support/settle.js';
import { fabricError } from '../support/transfer.js';

const SIZE = 8 << 20;

const ends = endsAborted();

/** Two endpoints that are peers of each other. The second one posts receives only when a test does. */
async function openPair() {
  const caps = ['FI_MSG', 'FI_MULTI_RECV'] as const;
  const a = await open({ provider: 'efa', caps });
  const b = await open({ provider: 'efa', caps });
  const toB = a.av.insert(b.address);
  b.av.insert(a.address);
  await exchange();
  return { a, b, toB, exchange, drive };

  /** Sends a small message: the endpoints still work. */
  async function exchange() {
    const target = new Uint8Array(64);
    await drive(Promise.all([b.recv(target), a.send(pattern(64, 1), toB)]));
    expectBytes(target, pattern(64, 1));
  }

  function drive<T>(promise: Promise<T>): Promise<T> {
    return settle(promise, a.domain, b.domain);
  }
}

type Open = Awaited<ReturnType<typeof openPair>>;

/** Aborts a send when it is posted. Returns its promise, which has rejected. */
async function abortPosted(
  { a, drive }: Open,
  send: (signal: AbortSignal) => Promise<unknown>,
): Promise<{ sending: Promise<unknown> }> {
  const { operations } = a.domain.stats();
  const controller = new AbortController();
  const sending = send(controller.signal);
  while (a.domain.stats().operations === operations) await drive(new Promise(setImmediate));
  controller.abort();
  await expect(drive(sending)).rejects.toBe(controller.signal.reason);
  return { sending };
}

/** Receives a message whose send was aborted, if this version lets it arrive. */
async function expectOutcome({ b, drive }: Open, sending: Promise<unknown>, bytes: Uint8Array) {
  const target = new Uint8Array(SIZE);
  const receive = drive(b.recv(target));
  if (ends) {
    const failure = fabricError('FI_ECANCELED');
    await expect(receive).rejects.toEqual(failure);
    await expect(receive).rejects.toMatchObject({ provErrno: 4127 });
  } else {
    await receive;
    expectBytes(target, bytes);
  }
  await drive(released(sending));
}

test('through shared memory, an aborted send of a closed region arrives with all versions', async () => {
  const variables = { FI_EFA_ENABLE_SHM_TRANSFER: '1' };
  const [a, b] = await startPair({ variables }, { variables });
  await transfer(a, b, 1);
  expect(await a.ask('abortSend', pattern(SIZE, 7))).toBe('AbortError');
  expectBytes((await b.ask<Received>('recv', SIZE)).bytes, pattern(SIZE, 7));
  await transfer(a, b, 2);
  await Promise.all([a.close(), b.close()]);
});

test('region.close() ends its aborted sends from 2.7 on, and waits for them before', async () => {
  const opened = await openPair();
  const { a, toB, drive, exchange } = opened;
  const bytes = pattern(SIZE, 2);
  const region = await a.domain.register(bytes, ['FI_SEND']);
  const { sending } = await abortPosted(opened, (signal) => a.send(region, toB, { signal }));
  const closed = region.close();
  if (ends) await drive(closed);
  else expect(await isPending(closed)).toBe(true);
  await expectOutcome(opened, sending, bytes);
  await drive(closed);
  await exchange();
  await Promise.all([opened.a.close(), opened.b.close()]);
});

test('a region that closes before its send is aborted is closed by the abort', async () => {
  const opened = await openPair();
  const { a, toB, drive } = opened;
  const bytes = pattern(SIZE, 3);
  const region = await a.domain.register(bytes, ['FI_SEND']);
  let closed: Promise<void> | undefined;
  const { sending } = await abortPosted(opened, (signal) => {
    const promise = a.send(region, toB, { signal });
    closed = region.close();
    return promise;
  });
  if (ends) await drive(closed as Promise<void>);
  else expect(await isPending(closed as Promise<void>)).toBe(true);
  await expectOutcome(opened, sending, bytes);
  await drive(closed as Promise<void>);
  await Promise.all([opened.a.close(), opened.b.close()]);
});

test('an aborted send of memory that is not registered ends from 2.7 on', async () => {
  const opened = await openPair();
  const { a, b, toB, drive } = opened;
  const bytes = pattern(SIZE, 4);
  const { sending } = await abortPosted(opened, (signal) => a.send(bytes, toB, { signal }));
  await expectOutcome(opened, sending, bytes);
  // The same memory is registered again for the next send.
  const target = new Uint8Array(SIZE);
  await drive(Promise.all([b.recv(target), a.send(bytes, toB)]));
  expectBytes(target, bytes);
  await Promise.all([opened.a.close(), opened.b.close()]);
});

test('an aborted batch of sends ends with its region from 2.7 on', async () => {
  const opened = await openPair();
  const { a, toB, drive } = opened;
  const bytes = pattern(SIZE, 5);
  const region = await a.domain.register(bytes, ['FI_SEND']);
  const batch = a.batch();
  batch.send(region, toB);
  const { sending } = await abortPosted(opened, (signal) => batch.submit({ signal }));
  const closed = region.close();
  if (ends) await drive(closed);
  await expectOutcome(opened, sending, bytes);
  await drive(closed);
  await Promise.all([opened.a.close(), opened.b.close()]);
});

test.for(['messages', 'multiRecv'] as const)(
  '%s() goes on after a message that its sender has aborted',
  async (kind) => {
    const opened = await openPair();
    const { a, b, toB, drive } = opened;
    const bytes = pattern(SIZE, 8);
    const { sending } = await abortPosted(opened, (signal) => a.send(bytes, toB, { signal }));
    const stream: AsyncIterator<{ bytes: Uint8Array }> & Pick<AsyncGenerator, 'return'> =
      kind === 'messages'
        ? b.messages({ count: 2, size: SIZE })
        : b.multiRecv(new Uint8Array(3 * SIZE));
    const next = drive(stream.next());
    if (ends) await drive(released(sending));
    else expectBytes((await next).value.bytes, bytes);
    const second = ends ? next : drive(stream.next());
    await drive(a.send(bytes.subarray(0, 5000), toB));
    expectBytes((await second).value.bytes, bytes.subarray(0, 5000));
    // The sender's operation can end before the receiver's: the receiver still waits for its own packets then.
    let errors = b.receiveQueue.readErrors();
    while (ends && errors.length === 0) {
      await drive(new Promise(setImmediate));
      errors = b.receiveQueue.readErrors();
    }
    expect(errors.map(({ provErrno }) => provErrno)).toEqual(ends ? [4127] : []);
    await drive(stream.return(undefined));
    await Promise.all([a.close(), b.close()]);
  },
);

test('region.close() waits for a send that was not aborted, and both sends arrive', async () => {
  const opened = await openPair();
  const { a, b, toB, drive } = opened;
  const bytes = pattern(SIZE, 6);
  const region: MemoryRegion = await a.domain.register(bytes, ['FI_SEND']);
  const kept = a.send(region, toB);
  const { sending } = await abortPosted(opened, (signal) => a.send(region, toB, { signal }));
  const closed = region.close();
  expect(await isPending(closed)).toBe(true);
  const target = new Uint8Array(SIZE);
  await drive(Promise.all([b.recv(target), kept]));
  expectBytes(target, bytes);
  await expectOutcome(opened, sending, bytes);
  await drive(closed);
  await Promise.all([opened.a.close(), opened.b.close()]);
});
