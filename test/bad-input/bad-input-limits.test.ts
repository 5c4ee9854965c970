import { constants } from 'node:buffer';
import { open } from 'libfabric';
import { describe, expect, test } from 'vitest';
import {
  expectRejected,
  expectThrown,
  expectWorking,
  loopbackOfFile,
} from '../support/bad-input.js';

const loopback = loopbackOfFile();

describe('counts and sizes beyond any machine are refused', () => {
  test.each([2 ** 31, 2 ** 53 - 1, 2 ** 53])('a queue of %d entries', async (size) => {
    await expectThrown(() => loopback.ep.domain.completionQueue({ size }), /options\.size/);
  });
  test.each([2 ** 31, 2 ** 53 - 1, 2 ** 53])('an address vector for %d peers', async (count) => {
    await expectThrown(() => loopback.ep.domain.addressVector({ count }), /options\.count/);
  });
  test.each([2 ** 47, 2 ** 52, 2 ** 53 - 1])('%d bytes of memory', async (length) => {
    const error = await expectRejected(() => loopback.ep.domain.allocate(length, ['FI_SEND']));
    expect(error.code).toBe(length > constants.MAX_LENGTH ? 'ERR_OUT_OF_RANGE' : 'FI_ENOMEM');
    await expectWorking(loopback.ep, loopback.self);
  });
  test('65536 buffers of 1 GiB for messages', async () => {
    const options = { count: 65_536, size: 2 ** 30 };
    await expectThrown(() => loopback.ep.messages(options), /options\.count \* options\.size/);
  });
});

describe('buffers', () => {
  test('more than iovLimit are refused, and received one fewer over shm; exactly as many are sent', async () => {
    const { ep, self } = loopback;
    const limit = ep.info.txAttr.iovLimit;
    const receiveLimit = ep.info.rxAttr.iovLimit - 1;
    const buffers = (count: number, length = 4) =>
      Array.from({ length: count }, () => new Uint8Array(length));
    for (const count of [0, receiveLimit + 1, 1000]) {
      await expectRejected(() => ep.recvv(buffers(count)), /buffers\.length/);
    }
    for (const count of [0, limit + 1, 1000]) {
      await expectRejected(() => ep.sendv(buffers(count), self), /buffers\.length/);
      await expectRejected(() => ep.tsendv(buffers(count), self, 1n), /buffers\.length/);
      await expectThrown(() => ep.batch().sendv(buffers(count), self), /buffers\.length/);
    }
    const got = ep.recvv(buffers(receiveLimit, 8));
    await ep.sendv(buffers(limit), self);
    expect((await got).length).toBe(4 * limit);
  });

  test('of length 0 are sent, received, written and read', async () => {
    const { ep, self } = loopback;
    const region = await ep.domain.allocate(64, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
    const remote = ep.domain.remote(region.descriptor());
    for (const empty of [
      new Uint8Array(),
      new ArrayBuffer(0),
      region.slice(64),
      region.slice(0, 0),
    ]) {
      const got = ep.recv(empty);
      await ep.send(empty, self);
      expect((await got).length).toBe(0);
      const tagged = ep.trecv(empty, null, 1n);
      await ep.tsend(empty, self, 1n);
      expect((await tagged).length).toBe(0);
      await ep.write(empty, self, remote, { offset: 64 });
      await ep.read(empty, self, remote);
      await expectRejected(() => ep.domain.register(empty as never, ['FI_SEND']), /buffer/);
    }
    const got = ep.recvv([new Uint8Array(), new Uint8Array(4), new Uint8Array()]);
    await ep.sendv([new Uint8Array(), new Uint8Array(3), new Uint8Array()], self);
    expect((await got).length).toBe(3);
    const injected = ep.recv(new Uint8Array(4));
    await ep.inject(new Uint8Array(), self);
    expect((await injected).length).toBe(0);
    await expectThrown(() => ep.multiRecv(new Uint8Array()), /buffer is empty/);
    await expectWorking(ep, self);
  });

  test('longer than injectSize are refused by inject and FI_INJECT; injectSize bytes are sent', async () => {
    const { ep, self } = loopback;
    const limit = Math.min(ep.info.txAttr.injectSize, 255 * 64);
    const over = new Uint8Array(limit + 1);
    await expectRejected(() => ep.inject(over, self), /injectSize/);
    await expectRejected(() => ep.injectdata(over, 1n, self), /injectSize/);
    await expectRejected(() => ep.tinject(over, self, 1n), /injectSize/);
    await expectRejected(() => ep.send(over, self, { flags: ['FI_INJECT'] }), /FI_INJECT/);
    await expectThrown(() => ep.batch().inject(over, self), /injectSize/);
    const got = ep.recv(new Uint8Array(limit));
    await ep.inject(new Uint8Array(limit).fill(7), self);
    expect((await got).length).toBe(limit);
  });

  test('too short for their message fail with FI_ETRUNC, and the next transfer succeeds', async () => {
    const { ep, self } = loopback;
    for (const length of [3, 200, 4000, 5000, 100_000]) {
      const short = expectRejected(() => ep.recv(new Uint8Array(2)));
      const tagged = expectRejected(() => ep.trecv(new Uint8Array(2), null, 1n));
      await Promise.allSettled([
        ep.send(new Uint8Array(length), self),
        ep.tsend(new Uint8Array(length), self, 1n),
      ]);
      expect((await short).code).toBe('FI_ETRUNC');
      expect((await tagged).code).toBe('FI_ETRUNC');
    }
    await expectWorking(ep, self);
  });
});

test('no message is lost when the send queue is full', async () => {
  const { ep, self } = loopback;
  const count = 4 * ep.info.txAttr.size;
  const sends = Array.from({ length: count }, (_, i) => ep.tsend(Uint8Array.of(i), self, i));
  const bytes = Array.from({ length: count }, () => new Uint8Array(1));
  for (let first = 0; first < count; first += 256) {
    const some = bytes.slice(first, first + 256);
    await Promise.all(some.map((one, i) => ep.trecv(one, null, first + i)));
  }
  await Promise.all(sends);
  expect(bytes.every((one, i) => one[0] === (i & 255))).toBe(true);
  await expectWorking(ep, self);
});

test('a datagram longer than maxMsgSize is refused; one of maxMsgSize arrives', async () => {
  const ep = await open({
    provider: 'udp',
    type: 'FI_EP_DGRAM',
    node: '127.0.0.1',
    driver: 'loop',
  });
  const self = ep.av.insert(ep.address);
  const limit = Number(ep.info.epAttr.maxMsgSize);
  for (const length of [limit + 1, 65_536, 1 << 20]) {
    const error = await expectRejected(() => ep.send(new Uint8Array(length), self), /maxMsgSize/);
    expect(error.code).toBe('FI_EMSGSIZE');
    const halves = [new Uint8Array(length - 1), new Uint8Array(1)];
    await expectRejected(() => ep.sendv(halves, self), /maxMsgSize/);
    expect(
      (await expectThrown(() => ep.post.send(halves[0]!.subarray(0, 0), 5 as never))).code,
    ).toMatch(/^ERR/);
  }
  const got = ep.recv(new Uint8Array(limit));
  await ep.send(new Uint8Array(limit), self);
  expect((await got).length).toBe(limit);
  await ep.close();
});

describe('atomics', () => {
  const ADD = { datatype: 'FI_UINT64', op: 'FI_SUM' } as const;

  test('with wrong lengths, types and operations are refused', async () => {
    const { ep, self } = loopback;
    const region = await ep.domain.allocate(1 << 20, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
    const remote = ep.domain.remote(region.descriptor());
    const eight = () => new Uint8Array(8);
    for (const length of [0, 1, 7, 9]) {
      await expectRejected(() => ep.atomic(new Uint8Array(length), self, remote, ADD), /operand/);
    }
    const limit = ep.atomicValid('atomic', 'FI_UINT64', 'FI_SUM');
    const many = new Uint8Array(8 * (limit + 1));
    await expectRejected(() => ep.atomic(many, self, remote, ADD), /operand .*elements/);
    await expectRejected(
      () => ep.fetchAtomic(eight(), new Uint8Array(16), self, remote, ADD),
      /length/,
    );
    const swap = { datatype: 'FI_UINT64', op: 'FI_CSWAP' } as const;
    await expectRejected(
      () => ep.compareAtomic(eight(), new Uint8Array(16), eight(), self, remote, swap),
      /length/,
    );
    const wrong = [{ ...ADD, datatype: 'FI_UINT63' }, { ...ADD, op: 'FI_SUMM' }, { op: 'FI_SUM' }];
    for (const options of wrong) {
      await expectRejected(() => ep.atomic(eight(), self, remote, options as never), /datatype|op/);
    }
    const error = await expectRejected(
      () => ep.atomic(eight(), self, remote, swap),
      /not supported/,
    );
    expect(error.code).toBe('FI_EOPNOTSUPP');
    await ep.atomic(eight(), self, remote, ADD);
    await expectWorking(ep, self);
  });
});
