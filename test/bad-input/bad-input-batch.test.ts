import { type BatchUpdate, type MemoryRegion, open, type RemoteRegion } from 'libfabric';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  expectRejected,
  expectThrown,
  expectWorking,
  loopbackOfFile,
  refusalOf,
} from '../support/bad-input.js';
import { callVerb, VERBS, verbs } from '../support/verbs.js';

const loopback = loopbackOfFile();
let region: MemoryRegion;
let remote: RemoteRegion;

beforeAll(async () => {
  region = await loopback.ep.domain.allocate(4096, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
  remote = loopback.ep.domain.remote(region.descriptor());
});

const args = (verb: string) => verbs({ self: loopback.self, region, remote })[verb]!();

describe('update()', () => {
  const WITH_TAG = VERBS.filter((verb) => verb.startsWith('t'));
  const WITH_DATA = VERBS.filter((verb) => verb.includes('data'));
  const cases = VERBS.map((verb) => ({
    verb,
    refused: [
      ...(/nject|tomic/.test(verb) ? ['offset', 'length'] : []),
      ...(/rite|^read|tomic/.test(verb) ? [] : ['remoteOffset']),
      ...(WITH_TAG.includes(verb) ? [] : ['tag', 'tagStep']),
      ...(WITH_DATA.includes(verb) ? [] : ['data']),
    ],
  }));

  test.each(cases)(
    'refuses $refused of $verb, and accepts the other members',
    async ({ verb, refused }) => {
      using batch = loopback.ep.batch();
      const index = callVerb(batch, verb, args(verb)) as number;
      for (const name of ['offset', 'length', 'remoteOffset', 'tag', 'tagStep', 'data']) {
        const change = { [name]: 4 } as BatchUpdate;
        if (!refused.includes(name)) batch.update(index, change);
        else
          await expectThrown(
            () => batch.update(index, change),
            new RegExp(`^${name} cannot be changed`),
          );
      }
    },
  );

  test.each([-1, 1.5, Number.NaN, 2 ** 53, '4', null, {}])(
    'refuses %s as a number',
    async (value) => {
      using batch = loopback.ep.batch();
      batch.tsenddata(new Uint8Array(8), 1n, loopback.self, 1n);
      batch.writedata(new Uint8Array(8), 1n, loopback.self, remote);
      for (const name of ['offset', 'length', 'tag', 'tagStep', 'data']) {
        await expectThrown(
          () => batch.update(0, { [name]: value }),
          new RegExp(`^${name} must be`),
        );
      }
      await expectThrown(
        () => batch.update(1, { remoteOffset: value as number }),
        /^remoteOffset must/,
      );
    },
  );

  test.each([-1, 2 ** 32])('refuses %d as tagStep', async (tagStep) => {
    using batch = loopback.ep.batch();
    batch.tsend(new Uint8Array(8), loopback.self, 1n);
    await expectThrown(() => batch.update(0, { tagStep }), /^tagStep must be/);
  });

  test('changes nothing if one change is invalid', async () => {
    const { ep, self } = loopback;
    using batch = ep.batch();
    const got = new Uint8Array(2);
    batch.send(Uint8Array.of(1, 2), self);
    await expectThrown(() => batch.update(0, { length: 1, offset: -1 }), /^offset/);
    const received = ep.recv(got);
    await batch.submit();
    expect((await received).length).toBe(2);
  });

  test.each([
    { offset: 4096 },
    { length: 4097 },
    { offset: 2 ** 53 - 1 },
    { offset: 4090, length: 8 },
    { remoteOffset: 4090 },
    { remoteOffset: 2 ** 53 - 1 },
  ])('with %o completes in error, and the batch remains usable', async (change) => {
    using batch = loopback.ep.batch();
    batch.write(region.slice(0, 8), loopback.self, remote);
    batch.update(0, change);
    const error = await expectRejected(() => batch.submit());
    expect(['FI_EFAULT', 'FI_EINVAL']).toContain(error.code);
    batch.update(0, { offset: 0, length: 8, remoteOffset: 0 });
    await batch.submit();
    await expectWorking(loopback.ep, loopback.self);
  });

  test('refuses a datagram longer than the limit', async () => {
    const ep = await open({ provider: 'udp', type: 'FI_EP_DGRAM', node: '127.0.0.1' });
    const self = ep.av.insert(ep.address);
    const limit = Number(ep.info.epAttr.maxMsgSize);
    const batch = ep.batch();
    batch.send(new Uint8Array(new ArrayBuffer(1 << 20), 0, 8), self);
    batch.sendv([new Uint8Array(new ArrayBuffer(1 << 20), 0, 8), new Uint8Array(8)], self);
    for (const [index, length] of [
      [0, limit + 1],
      [1, limit - 7],
      [0, 1 << 20],
    ] as const) {
      const error = await expectThrown(() => batch.update(index, { length }));
      expect(error.code).toBe('FI_EMSGSIZE');
    }
    batch.close();
    await ep.close();
  });
});

describe('a batch', () => {
  test('that is empty or closed cannot be submitted', async () => {
    const { ep, self } = loopback;
    const batch = ep.batch();
    await expectRejected(() => batch.submit(), /the batch is empty/);
    await expectThrown(() => batch.run(), /manual/);
    batch.close();
    batch.close();
    await expectRejected(() => batch.submit(), /the batch is closed/);
    await expectThrown(() => batch.send(new Uint8Array(1), self), /the batch is closed/);
    await expectThrown(() => batch.update(0, {}), /the batch is closed/);
    await expectThrown(() => batch.clear(), /the batch is closed/);
  });

  test('in flight cannot be changed, cleared or closed', async () => {
    const { ep, self } = loopback;
    const batch = ep.batch();
    batch.recv(new Uint8Array(4));
    const submitted = batch.submit();
    await expectThrown(() => batch.update(0, { length: 1 }), /the batch is in flight/);
    await expectThrown(() => batch.clear(), /the batch is in flight/);
    await expectThrown(() => batch.close(), /the batch is in flight/);
    await expectThrown(() => batch.recv(new Uint8Array(4)), /the batch is in flight/);
    await ep.send(new Uint8Array(4), self);
    await submitted;
    batch.close();
  });

  test('with a closed region fails, and its other operations complete', async () => {
    const { ep, self } = loopback;
    const temporary = await ep.domain.allocate(64, ['FI_SEND', 'FI_RECV']);
    using batch = ep.batch();
    const got = new Uint8Array(4);
    batch.recv(got);
    batch.send(temporary.slice(0, 4), self);
    batch.send(Uint8Array.of(1, 2, 3, 4), self);
    await temporary.close();
    const error = await expectRejected(() => batch.submit());
    expect(error.code).toBe('FI_EFAULT');
    expect(got).toEqual(Uint8Array.of(1, 2, 3, 4));
    expect(batch.inFlight).toBe(0);
    await expectWorking(ep, self);
  });

  test('with a closed remote region or a removed peer fails', async () => {
    const { ep, self } = loopback;
    const closing = ep.domain.remote(region.descriptor());
    const absent = ep.av.insert('fi_shm://nobody-here');
    using writes = ep.batch();
    writes.write(new Uint8Array(8), self, closing);
    using sends = ep.batch();
    sends.send(new Uint8Array(8), absent);
    sends.inject(new Uint8Array(8), absent);
    closing.close();
    await ep.av.remove(absent);
    expect((await expectRejected(() => writes.submit())).code).toBe('FI_EINVAL');
    expect((await expectRejected(() => sends.submit())).code).toBe('FI_EADDRNOTAVAIL');
    await expectWorking(ep, self);
  });

  test('remains usable after a refused call', async () => {
    const { ep, self } = loopback;
    using batch = ep.batch();
    for (let i = 0; i < 100; i++) {
      const { how } = await refusalOf(() => batch.send(undefined as never, self));
      expect(how).toBe('threw');
      batch.send(Uint8Array.of(i), self);
    }
    expect(batch.size).toBe(100);
    const got = Array.from({ length: 100 }, () => ep.recv(new Uint8Array(1)));
    await batch.submit();
    expect((await Promise.all(got)).every(({ length }) => length === 1)).toBe(true);
  });
});
