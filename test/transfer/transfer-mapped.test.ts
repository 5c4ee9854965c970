import '../support/softefa.js';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { TransferEngine, TransferError } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { decodeToken, encodeToken } from '../../dist/transfer/token.js';
import { pattern, same } from '../support/bytes.js';
import { casesOf, quick, slow } from '../support/cases.js';
import { enginePair } from '../support/engines.js';
import { runCleanly } from '../support/lifecycle.js';
import { Receiver } from '../support/receiver.js';

const MIB = 1 << 20;

// Remote writes that the NICs of an engine have seen.
const arrivals = ({ rails }: TransferEngine) =>
  rails.reduce((sum, { arrivals: count }) => sum + count, 0);

const rails = casesOf<[string, number]>(
  [
    ['shm', 1],
    ['tcp', 2],
    ['efa', 2],
  ],
  ([provider]) => provider !== 'tcp',
);

describe.each(rails)('%s, %i rails', (provider, nics) => {
  const pair = () => enginePair({ provider, nics, mapMemory: true });

  test('a write into allocated memory is a copy, which arrives whole, with its notification', async () => {
    const { a, b, toA, toB } = await pair();
    expect([toA.maps, toB.maps]).toEqual([true, true]);
    for (const size of [1, 4096, 300_000, 8 * MIB + 5]) {
      const from = await a.register(pattern(size));
      const into = await b.allocate(size + 200);
      const offer = await into.slice(100, 100 + size).offer({ access: 'write', to: toA });
      const report = await toB.write(from, offer.token, { notification: Buffer.from(`${size}`) });
      const { bytes, length, notification } = await offer.arrived;
      expect(same(bytes, from.bytes)).toBe(true);
      expect([length, String(notification)]).toEqual([size, String(size)]);
      expect(report.byteLength).toBe(size);
      expect(into.bytes.subarray(0, 100).every((byte) => byte === 0)).toBe(true);
      expect(into.bytes.subarray(100 + size).every((byte) => byte === 0)).toBe(true);
      await offer.released;
      await Promise.all([from.close(), into.close()]);
    }
    expect(arrivals(b)).toBe(0);
  });

  test('an engine that closes unmaps the memory of its peers', () =>
    runCleanly('transfer-unmapped', [provider], { stdout: '1 0' }, { node: ['--expose-gc'] }));

  test.runIf(provider === 'shm' ? quick : slow)(
    'a worker that is terminated while it copies holds neither the offer nor the memory',
    () =>
      runCleanly(
        'transfer-terminated',
        [provider, 'close'],
        { stdout: 'write,read: 0 files, 0 mappings' },
        { node: ['--expose-gc'] },
      ),
  );

  test.runIf(provider === 'shm' ? quick : slow)(
    'an offer ends with the worker of its peer, and releases its memory',
    () =>
      runCleanly(
        'transfer-terminated',
        [provider, 'leave'],
        { stdout: 'write,read: 0 files, 0 mappings' },
        { node: ['--expose-gc'] },
      ),
  );

  test('a read of allocated memory is a copy', async () => {
    const { a, b, toA, toB } = await pair();
    const source = await b.allocate(3 * MIB);
    source.bytes.set(pattern(3 * MIB));
    const into = await a.register(new Uint8Array(MIB));
    const offer = await source.slice(MIB, 2 * MIB).offer({ access: 'read', to: toA });
    await toB.read(offer.token, into);
    expect(same(into.bytes, source.bytes.subarray(MIB, 2 * MIB))).toBe(true);
    await offer.released;
  });

  test('pages and a part of the grant arrive in their places', async () => {
    const { a, b, toA, toB } = await pair();
    const from = await a.register(pattern(64 * 4096));
    const into = await b.allocate(64 * 4096);
    const pages = { indices: [60, 3, 17, 4], size: 4096 };
    const offer = await into.pages(pages).offer({ access: 'write', to: toA });
    await toB.write(from.pages({ indices: [9, 1, 40], size: 4096 }), offer.token);
    const { length } = await offer.arrived;
    expect(length).toBe(3 * 4096);
    const page = (bytes: Uint8Array, at: number) => bytes.subarray(at * 4096, (at + 1) * 4096);
    expect(same(page(into.bytes, 60), page(from.bytes, 9))).toBe(true);
    expect(same(page(into.bytes, 3), page(from.bytes, 1))).toBe(true);
    expect(same(page(into.bytes, 17), page(from.bytes, 40))).toBe(true);
    expect(page(into.bytes, 4).every((byte) => byte === 0)).toBe(true);
  });

  test('a repeated transfer arrives each time, once', async () => {
    const { a, b, toA, toB } = await pair();
    const from = await a.allocate(MIB);
    const into = await b.allocate(MIB);
    const offer = await into.offer({ access: 'write', to: toA, repeat: true });
    const seen = offer[Symbol.asyncIterator]();
    let transfer = toB.write(from, offer.token);
    for (let round = 0; round < 20; round++) {
      if (round > 0) transfer = transfer.repeat();
      await transfer;
      expect((await seen.next()).value?.length).toBe(MIB);
      from.bytes.fill(round);
    }
    expect(into.bytes.every((byte) => byte === 18)).toBe(true);
    await offer.close();
  });

  test('an offer that closes ends the transfer, and the memory stays as it is from then on', async () => {
    const { a, b, toA, toB } = await pair();
    const from = await a.register(new Uint8Array(64 * MIB).fill(1));
    const into = await b.allocate(64 * MIB);
    const offer = await into.offer({ access: 'write', to: toA });
    offer.arrived.catch(() => {});
    const transfer = toB.write(from, offer.token);
    const settled = Promise.allSettled([transfer]);
    await vi.waitFor(() => expect(transfer.report().byteLength).toBeGreaterThan(0), {
      interval: 0,
    });
    await offer.close();
    into.bytes.fill(7);
    await settled;
    await transfer.released;
    expect(into.bytes.every((byte) => byte === 7)).toBe(true);
  });
});

test('a token that names another file is for the NICs alone', async () => {
  const { a, b, toA, toB } = await enginePair({ provider: 'tcp' });
  const from = await a.register(pattern(5000));
  const into = await b.allocate(5000);
  const other = await b.allocate(5000);
  for (const change of [{ inode: 1n }, { fd: 0 }, { fd: 100_000 }]) {
    const offer = await into.offer({ access: 'write', to: toA });
    const content = decodeToken(offer.token, '');
    expect(content.file).toBeDefined();
    const file = { ...content.file, ...change } as typeof content.file;
    into.bytes.fill(0);
    await toB.write(from, encodeToken({ ...content, file }, ''));
    await offer.arrived;
    expect(same(into.bytes, from.bytes)).toBe(true);
    await offer.released;
  }
  expect(arrivals(b)).toBe(3);
  expect(other.bytes.every((byte) => byte === 0)).toBe(true);
});

test('a grant beyond the end of its file is refused', async () => {
  const { a, b, toA, toB } = await enginePair({ provider: 'tcp' });
  const from = await a.register(pattern(5000));
  const into = await b.allocate(5000);
  const offer = await into.offer({ access: 'write', to: toA });
  const content = decodeToken(offer.token, '');
  const file = { ...content.file, offset: 8192 } as typeof content.file;
  const written = toB.write(from, encodeToken({ ...content, file }, ''));
  await expect(written).rejects.toThrow(/not within its file/);
});

test('without mapMemory on either side, NICs move the bytes', async () => {
  const a = await TransferEngine.open({ provider: 'tcp' });
  const b = await TransferEngine.open({ provider: 'tcp', mapMemory: false });
  onTestFinished(async () => {
    await Promise.all([a.close(), b.close()]);
  });
  const [toB, toA] = [await a.peer(b.address), await b.peer(a.address)];
  expect([toA.maps, toB.maps]).toEqual([false, false]);
  const into = await b.allocate(5000);
  const offer = await into.offer({ access: 'write', to: toA });
  await toB.write(await a.register(pattern(5000)), offer.token);
  await offer.arrived;
  expect(arrivals(b)).toBe(1);
});

test('another process maps the memory, and the bytes are there when it reports them', async () => {
  const engine = await TransferEngine.open({ provider: 'tcp' });
  onTestFinished(() => engine.close());
  const receiver = new Receiver('tcp', 1);
  const remote = await receiver.meet(engine);
  expect(remote.maps).toBe(true);
  const memory = await engine.register(pattern(10 * MIB));
  for (let round = 0; round < 5; round++) {
    const { token, outcome, released } = await receiver.offer(10 * MIB);
    const { rails } = await remote.write(memory, token);
    expect(rails[0]?.byteLength).toBe(10 * MIB);
    expect(await outcome).toMatch(/^[0-9a-f]{40}$/);
    await released;
  }
});

test.each([
  ['has closed', (a: TransferEngine) => a.close()],
  ['does not know this one', () => {}],
  [
    'has forgotten this one',
    async (a: TransferEngine, b: TransferEngine) => (await a.peer(b.address)).close(),
  ],
])('an offer ends although the engine of a running process %s', async (_, happens) => {
  const a = await TransferEngine.open({ provider: 'tcp' });
  const b = await TransferEngine.open({ provider: 'tcp' });
  onTestFinished(() => Promise.all([a.close(), b.close()]).then(() => {}));
  const memory = await b.allocate(MIB);
  const offer = await memory.offer({ access: 'write', to: await b.peer(a.address) });
  await happens(a, b);
  await offer.close();
  memory.bytes.fill(7);
  if (a.closed) return;
  const late = (await a.peer(b.address)).write(await a.allocate(MIB), offer.token, {
    timeout: 1000,
  });
  await expect(late).rejects.toBeInstanceOf(TransferError);
  expect(memory.bytes.every((byte) => byte === 7)).toBe(true);
});

test('an offer to a stopped process stays, because its copy goes on when it continues', async () => {
  const engine = await TransferEngine.open({ provider: 'tcp' });
  onTestFinished(() => engine.close());
  const program = fileURLToPath(new URL('../programs/transfer-sender.mjs', import.meta.url));
  const sender = fork(program, ['tcp', '1']);
  onTestFinished(() => {
    sender.kill('SIGKILL');
  });
  await once(sender, 'message');
  sender.send({ address: engine.address });
  const [{ address }] = await once(sender, 'message');
  const memory = await engine.allocate(256 * MIB);
  const remote = await engine.peer(address);
  const stopInCopy = async () => {
    memory.bytes.fill(0);
    const offer = await memory.offer({ access: 'write', to: remote });
    sender.send({ token: offer.token, length: 256 * MIB });
    while (memory.bytes[0] === 0) await new Promise(setImmediate);
    sender.kill('SIGSTOP');
    return offer;
  };
  let offer = await stopInCopy();
  while (memory.bytes.at(-1) === 1) {
    sender.kill('SIGCONT'); // the copy was faster
    await offer.arrived;
    offer = await stopInCopy();
  }
  let released = false;
  const closing = offer.close().then(() => {
    released = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 3000)); // longer than a peer may take that is gone
  expect(released).toBe(false);
  sender.kill('SIGKILL');
  await closing;
});
