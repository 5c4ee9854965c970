// The option `timeout` of an endpoint: the timeout of every operation that has none of its own.
import { type DriverKind, Fabric, open } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { combinations } from '../support/cases.js';
import { until } from '../support/lifecycle.js';
import { settle } from '../support/settle.js';
import { closing, entryOf, loopback } from '../support/transfer.js';

const SHORT = 40.5;
const LONG = 60_000;
const PATIENT = { timeout: LONG };
const CAPS = ['FI_MSG', 'FI_TAGGED', 'FI_RMA'] as const;
const TIMED_OUT = { code: 'FI_ETIMEDOUT', message: expect.stringContaining(`after ${SHORT} ms`) };

const openWith = async (provider: string, driver: DriverKind, timeout: number | undefined) =>
  closing(
    await open({
      ...{ provider, driver, caps: CAPS, ...loopback(provider) },
      ...(timeout !== undefined && { timeout }),
    }),
  );

describe.each(combinations)('$provider, $driver driver', ({ provider, driver }) => {
  const opened = () => openWith(provider, driver, SHORT);

  test('receives and batches of them time out', async () => {
    const ep = await opened();
    const batch = ep.batch();
    batch.recv(new Uint8Array(8));
    const waiting: Promise<unknown>[] = [
      ep.recv(new Uint8Array(8)),
      ep.recvv([new Uint8Array(8)]),
      ep.trecv(new Uint8Array(8), null, 7n),
      batch.submit(),
      batch.submit({ signal: new AbortController().signal }),
    ];
    const ends = await settle(Promise.allSettled(waiting), ep.domain);
    const late = { status: 'rejected', reason: expect.objectContaining(TIMED_OUT) };
    expect(ends).toEqual(waiting.map(() => late));
  });

  test('messages to a peer that does not progress time out, and close() ends', async () => {
    const ep = await opened();
    const silent = await openWith(provider, 'manual', undefined);
    const peer = ep.av.insert(silent.address);
    const large = new Uint8Array(8 << 20);
    // Providers that send early have no room for all of them.
    const sent = Array.from({ length: 64 }, () => settle(ep.send(large, peer), ep.domain));
    const failed = (await Promise.allSettled(sent)).filter(({ status }) => status === 'rejected');
    expect(failed.length).toBeGreaterThan(0);
    for (const each of failed) {
      expect((each as PromiseRejectedResult).reason).toMatchObject(TIMED_OUT);
    }
    await settle(ep.close({ timeout: 100 }), ep.domain);
  });

  test('a timeout of the operation goes before it, also a longer one', async () => {
    const ep = await opened();
    const self = ep.av.insert(ep.address);
    const patient = new Uint8Array(8);
    const received = ep.recv(patient, null, { timeout: LONG });
    const batch = ep.batch();
    batch.trecv(new Uint8Array(8), null, 9n);
    const submitted = batch.submit({ timeout: LONG });
    const short = ep.trecv(new Uint8Array(8), null, 7n, 0, { timeout: 20 });
    await expect(settle(short, ep.domain)).rejects.toThrow('after 20 ms');
    const others = ep.trecv(new Uint8Array(8), null, 7n);
    await expect(settle(others, ep.domain)).rejects.toMatchObject(TIMED_OUT);
    await settle(
      Promise.all([
        ep.send(pattern(8), self, PATIENT),
        received,
        ep.tsend(pattern(8), self, 9n, PATIENT),
        submitted,
      ]),
      ep.domain,
    );
    expectBytes(patient, pattern(8));
  });

  test('an operation without a timeout that has a signal times out', async () => {
    const ep = await opened();
    const control = new AbortController();
    const { signal } = control;
    const received = ep.recv(new Uint8Array(8), null, { signal });
    await expect(settle(received, ep.domain)).rejects.toMatchObject(TIMED_OUT);
    const aborted = ep.recv(new Uint8Array(8), null, { signal, timeout: LONG });
    control.abort(new Error('enough'));
    await expect(settle(aborted, ep.domain)).rejects.toThrow('enough');
  });

  test('streams, queues and endpoint.post have none', async () => {
    const ep = await opened();
    const self = ep.av.insert(ep.address);
    const post = ep.post;
    post.trecv(new Uint8Array(8), null, 1n);
    const arrived = ep.receiveQueue.arrived(5n).catch(({ code }) => code);
    const messages = ep.messages({ count: 1, size: 64 });
    const next = messages.next();
    const others = ep.trecv(new Uint8Array(8), null, 7n);
    await expect(settle(others, ep.domain)).rejects.toMatchObject(TIMED_OUT);
    await settle(ep.send(pattern(8), self, PATIENT), ep.domain);
    expect((await settle(next, ep.domain)).value.bytes).toHaveLength(8);
    await settle(messages.return(), ep.domain);
    await settle(ep.tsend(pattern(8), self, 1n, PATIENT), ep.domain);
    const entries: unknown[] = [];
    await settle(
      (async () => {
        while (entries.length === 0) {
          entries.push(...ep.receiveQueue.read());
          await new Promise(setImmediate);
        }
      })(),
      ep.domain,
    );
    expect(entries).toEqual([{ context: undefined, completion: expect.anything() }]);
    await settle(ep.close(), ep.domain);
    expect(await arrived).toBe('FI_ECANCELED');
  });
});

test('a submission of rounds has none', async () => {
  const ep = await openWith('shm', 'thread', SHORT);
  const self = ep.av.insert(ep.address);
  const batch = ep.batch();
  batch.recv(new Uint8Array(8));
  batch.send(new Uint8Array(8), self);
  expect(await batch.submit({ duration: 3 * SHORT })).toBeGreaterThan(0);
});

test('0 lets operations that do not complete at once time out', async () => {
  const ep = await openWith('shm', 'thread', 0);
  await expect(ep.recv(new Uint8Array(8))).rejects.toThrow('after 0 ms');
});

test('domain.endpoint() takes it too, for this endpoint alone', async () => {
  const info = entryOf('shm', ['FI_MSG']);
  const domain = closing(Fabric.open(info)).domain(info);
  const make = (timeout?: number) =>
    domain.endpoint(info, {
      ...{ av: domain.addressVector(), cq: domain.completionQueue() },
      ...(timeout !== undefined && { timeout }),
    });
  const [timed, patient] = [make(SHORT), make()];
  const received = patient.recv(new Uint8Array(8));
  await expect(timed.recv(new Uint8Array(8))).rejects.toMatchObject(TIMED_OUT);
  await patient.send(pattern(8), patient.av.insert(patient.address));
  expect((await received).length).toBe(8);
});

test('an endpoint without it has the methods of before, and so no cost', async () => {
  const [timed, plain, other] = [
    await openWith('shm', 'thread', SHORT),
    await openWith('shm', 'thread', undefined),
    await openWith('tcp', 'loop', undefined),
  ];
  expect(plain.finish).toBe(other.finish);
  expect(plain.finish).not.toBe(timed.finish);
  expect(timed.send).toBe(plain.send);
  expect(timed.constructor.name).toBe('Endpoint');
});

test('an aborted receive of it lets the next one have the message', async () => {
  const ep = await openWith('shm', 'thread', SHORT);
  const abandoned = new Uint8Array(8);
  await expect(ep.recv(abandoned)).rejects.toMatchObject(TIMED_OUT);
  const target = new Uint8Array(8);
  const received = ep.recv(target, null, { timeout: LONG });
  await ep.send(pattern(8), ep.av.insert(ep.address), { timeout: LONG });
  await received;
  expectBytes(target, pattern(8));
  expectBytes(abandoned, new Uint8Array(8));
  await until(() => ep.limits.engine.requests.pending === 0);
});
