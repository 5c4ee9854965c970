// The fabric efa-direct (libfabric 2): it passes operations to the device unchanged.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Cap, type Completion, type DriverKind, getInfo, type Mode, open } from 'libfabric';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { drivers } from '../support/providers.js';
import { withSoftefa } from '../support/softefa.js';
import { closing, fabricError, Guarded, Pair } from '../support/transfer.js';

const hints = { fabricAttr: { provName: 'efa', name: 'efa-direct' } } as const;
const entries = getInfo({ ...hints, epAttr: { type: 'FI_EP_RDM' } });
const REMOTE = ['FI_REMOTE_READ', 'FI_REMOTE_WRITE'] as const;

beforeEach((context) => context.skip(entries.length === 0, 'libfabric < 2.1 has no efa-direct'));

async function directPair<const C extends Cap>(
  caps: readonly C[],
  driver: DriverKind = 'thread',
  more: { mode?: readonly Mode[] } = {},
) {
  const options = { provider: 'efa', fabric: 'efa-direct', caps, driver, ...more } as const;
  const a = closing(await open(options));
  const pair = new Pair<'FI_EP_RDM', C>(a, closing(await open(options)));
  return { ...pair, done: pair.done.bind(pair), fails: pair.fails.bind(pair) };
}

type DirectPair = Awaited<ReturnType<typeof directPair<'FI_MSG' | 'FI_RMA'>>>;

/** Writes with data three times, and waits until all have arrived. */
async function writeThrice({ a, b, toB, done }: Pick<DirectPair, 'a' | 'b' | 'toB' | 'done'>) {
  const region = await b.domain.allocate(64, REMOTE);
  const remote = a.domain.remote(region.descriptor());
  const arrived = b.receiveQueue.arrived(7n, 3);
  for (let i = 0; i < 3; i++) await done(a.writedata(pattern(64, i), 7n, toB, remote));
  await done(arrived);
  expectBytes(region.bytes, pattern(64, 2));
}

describe('efa-direct', () => {
  test('the entry requires FI_CONTEXT2 and FI_MR_LOCAL, and has neither tagged messages nor atomics', () => {
    const [info] = entries;
    expect(info?.mode).toContain('FI_CONTEXT2');
    expect(info?.domainAttr.mrMode).toContain('FI_MR_LOCAL');
    expect(info?.caps).not.toContain('FI_TAGGED');
    expect(info?.caps).not.toContain('FI_ATOMIC');
  });

  test('open() selects the fabric efa by default', async () => {
    const ep = closing(await open({ provider: 'efa', caps: ['FI_MSG'] }));
    expect(ep.info.fabricAttr.name).toBe('efa');
  });

  test('open() requests message order, which efa of libfabric 2 keeps only on request', async () => {
    const ep = closing(await open({ provider: 'efa', caps: ['FI_MSG'] }));
    expect(ep.info.rxAttr.msgOrder).toContain('FI_ORDER_SAS');
  });

  test.each(['FI_TAGGED', 'FI_ATOMIC'] as const)(
    'open() with %s fails with FI_ENODATA',
    async (cap) => {
      const opening = open({ provider: 'efa', fabric: 'efa-direct', caps: [cap] });
      await expect(opening).rejects.toEqual(fabricError('FI_ENODATA'));
    },
  );

  describe.each(drivers)('%s driver', (driver) => {
    test('messages of every size up to the MTU arrive intact', async () => {
      const { a, b, toB, done } = await directPair(['FI_MSG'], driver);
      const mtu = Number(a.info.epAttr.maxMsgSize);
      for (const size of [0, 1, 32, 33, 4096, mtu]) {
        const target = new Guarded(size);
        const received = b.recv(target.bytes);
        await done(a.send(pattern(size, size), toB));
        expect(await done(received)).toMatchObject({ length: size });
        expectBytes(target.bytes, pattern(size, size));
        target.expectIntact();
      }
    });

    test('a message longer than the MTU is refused', async () => {
      const { a, toB, fails } = await directPair(['FI_MSG'], driver);
      const tooLong = new Uint8Array(Number(a.info.epAttr.maxMsgSize) + 1);
      expect(await fails(a.send(tooLong, toB))).toMatchObject({
        message: expect.stringMatching(/at most|longer|FI_EMSGSIZE/),
      });
    });

    test('remote data arrives with the message', async () => {
      const { a, b, toB, done } = await directPair(['FI_MSG'], driver);
      const received = b.recv(new Uint8Array(8));
      await done(a.senddata(pattern(8), 0xfedcba98n, toB));
      expect(await done(received)).toMatchObject({ length: 8, data: 0xfedcba98n });
    });

    test('RMA writes and reads of plain and registered memory access only their range', async () => {
      const { a, b, toB, done } = await directPair(['FI_MSG', 'FI_RMA'], driver);
      const region = await b.domain.allocate(2 ** 20 + 256, REMOTE);
      const remote = a.domain.remote(region.descriptor());
      const own = await a.domain.allocate(2 ** 20, ['FI_READ', 'FI_WRITE']);
      for (const size of [1, 64, 4096, 2 ** 20]) {
        region.bytes.fill(0xa5);
        own.bytes.set(pattern(size, size));
        await done(a.write(own.slice(0, size), toB, remote, { offset: 128 }));
        const target = new Guarded(size);
        await done(a.read(target.bytes, toB, remote, { offset: 128 }));
        expectBytes(target.bytes, pattern(size, size));
        target.expectIntact();
        expect(new Set(region.bytes.subarray(128 + size))).toEqual(new Set([0xa5]));
      }
    });

    test('an empty write and an empty read settle', async () => {
      const { a, b, toB, done } = await directPair(['FI_MSG', 'FI_RMA'], driver);
      const region = await b.domain.allocate(64, REMOTE);
      const remote = a.domain.remote(region.descriptor());
      const empty = new Uint8Array(0);
      const outcomes = [a.write(empty, toB, remote), a.read(empty, toB, remote)];
      expect(await done(Promise.allSettled(outcomes))).toHaveLength(2);
    });

    test('writes with data need no receive without the mode FI_RX_CQ_DATA', async (context) => {
      const mode = ['FI_CONTEXT', 'FI_CONTEXT2'] as const;
      context.skip(getInfo({ ...hints, mode }).length === 0, 'this device requires the mode');
      const { a, b, toB, done } = await directPair(['FI_MSG', 'FI_RMA'], driver, { mode });
      await writeThrice({ a, b, toB, done });
    });

    test('with the mode FI_RX_CQ_DATA, a write with data consumes a receive', async (context) => {
      const { a, b, toB, done } = await directPair(['FI_MSG', 'FI_RMA'], driver);
      context.skip(!a.info.mode.includes('FI_RX_CQ_DATA'), 'the provider does not require it');
      const target = new Uint8Array(8);
      const receives = [1, 2, 3, 4].map(() => b.recv(target));
      await writeThrice({ a, b, toB, done });
      const consumed = await done(Promise.all(receives.slice(0, 3)));
      for (const { flags, data } of consumed) {
        expect(flags).toContain('FI_REMOTE_WRITE');
        expect(data).toBe(7n);
      }
      expectBytes(target, new Uint8Array(8));
      await done(a.send(pattern(8), toB));
      expect(await done(receives[3] as Promise<Completion>)).toMatchObject({ length: 8 });
      expectBytes(target, pattern(8));
    });

    test('with the mode FI_RX_CQ_DATA, messages() yields messages only', async (context) => {
      const { a, b, toB, done } = await directPair(['FI_MSG', 'FI_RMA'], driver);
      context.skip(!a.info.mode.includes('FI_RX_CQ_DATA'), 'the provider does not require it');
      const messages = b.messages({ count: 2, size: 64 });
      await writeThrice({ a, b, toB, done });
      await done(a.send(pattern(8), toB));
      const { value } = await done(messages.next());
      expectBytes(value.bytes, pattern(8));
      await done(messages.return());
    });

    test('more writes than the send queue holds complete, as single operations and as a batch', async () => {
      const { a, b, toB, done } = await directPair(['FI_MSG', 'FI_RMA'], driver);
      const region = await b.domain.allocate(4096, REMOTE);
      const remote = a.domain.remote(region.descriptor());
      const count = 3 * a.info.txAttr.size;
      const source = pattern(1024);
      await done(
        Promise.all(
          Array.from({ length: count }, () => a.write(source.subarray(0, 4), toB, remote)),
        ),
      );
      const batch = a.batch();
      for (let i = 0; i < count; i++) {
        batch.write(source.subarray(i % 1000, (i % 1000) + 4), toB, remote, {
          offset: (i % 1000) * 4,
        });
      }
      for (let round = 0; round < 3; round++) {
        region.bytes.fill(0);
        await done(batch.submit());
        expectBytes(region.bytes.subarray(3996, 4000), source.subarray(999, 1003));
      }
    });

    test('close() cancels posted receives', async () => {
      const { b, done } = await directPair(['FI_MSG'], driver);
      const outcome = b.recv(new Uint8Array(16)).then(
        () => 'received',
        (error: unknown) => error,
      );
      await b.close({ timeout: 500 });
      expect(await done(outcome)).toEqual(fabricError('FI_ECANCELED'));
    });
  });

  test('RMA to a peer that has not inserted this endpoint fails, and says what the peer must do', async () => {
    const program = fileURLToPath(new URL('../programs/direct-target.mjs', import.meta.url));
    const target = spawn(process.execPath, [program], { env: withSoftefa({ node: 1 }) });
    onTestFinished(() => {
      target.kill('SIGKILL');
    });
    const lines = createInterface({ input: target.stdout })[Symbol.asyncIterator]();
    const [address = '', descriptor = ''] = ((await lines.next()).value as string).split(' ');
    const ep = closing(
      await open({ provider: 'efa', fabric: 'efa-direct', caps: ['FI_MSG', 'FI_RMA'] }),
    );
    const peer = ep.av.insert(Buffer.from(address, 'hex'));
    const remote = ep.domain.remote(Buffer.from(descriptor, 'hex'));
    const unknown = { provErrno: 14, message: expect.stringContaining('must av.insert() this') };
    await expect(ep.write(pattern(64), peer, remote)).rejects.toMatchObject(unknown);
    await expect(ep.read(new Uint8Array(64), peer, remote)).rejects.toMatchObject(unknown);
    target.stdin.write(`${Buffer.from(ep.address).toString('hex')}\n`);
    expect((await lines.next()).value).toBe('inserted');
    await ep.write(pattern(64), peer, remote);
    const into = new Uint8Array(64);
    await ep.read(into, peer, remote);
    expectBytes(into, pattern(64));
  });

  test('writev and readv take one buffer, also in a batch; two are refused', async () => {
    const { a, b, toB, done } = await directPair(['FI_MSG', 'FI_RMA']);
    const region = await b.domain.allocate(64, REMOTE);
    const remote = a.domain.remote(region.descriptor());
    const target = new Uint8Array(32);
    await done(a.writev([pattern(32)], toB, remote));
    const batch = a.batch();
    batch.readv([target], toB, remote);
    await done(batch.submit());
    expectBytes(target, pattern(32));
    const two = [new Uint8Array(8), new Uint8Array(8)];
    const reason = /buffers\.length.*from 1 to 1 \(an RDMA operation of the device has one local/;
    await expect(a.writev(two, toB, remote)).rejects.toThrow(reason);
    await expect(a.readv(two, toB, remote)).rejects.toThrow(reason);
    expect(() => batch.writev(two, toB, remote)).toThrow(reason);
    await done(a.write(pattern(8), toB, remote));
  });
});
