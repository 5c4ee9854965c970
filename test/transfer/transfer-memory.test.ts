// The properties of memory: parts, pages, NICs, NUMA nodes, and offers to read it.
import '../support/four-nics.js';
import '../support/softefa.js';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TransferEngine, TransferError } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { enginePair, MAPPED_OR_NOT } from '../support/engines.js';
import { FakeSysfs } from '../support/fake-sysfs.js';
import { loopback } from '../support/transfer.js';

const SIZE = 1 << 20;

describe.each([
  ['shm', true],
  ['tcp', false],
  ['efa', false],
])('%s, mapped: %s', (provider, mapMemory) => {
  const options = { provider, nics: 2, mapMemory };
  const filled = async (engine: TransferEngine, length = SIZE) => {
    const memory = await engine.allocate(length);
    memory.bytes.set(pattern(length));
    return memory;
  };

  test('an offer to read resolves when the peer has read it, and says how many bytes', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const source = await filled(b);
    const into = await a.allocate(SIZE);
    const offer = await source.offer({ access: 'read', to: toA });
    await toB.read(offer.token, into.slice(0, SIZE / 2));
    const { bytes, length, notification } = await offer.arrived;
    expect(length).toBe(SIZE / 2);
    expect(same(bytes, source.bytes.subarray(0, SIZE / 2))).toBe(true);
    expect(notification).toBeUndefined();
    await offer.released;
  });

  test('bytes whose ArrayBuffer is detached at any moment are transferred all the same', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const detach = (bytes: Uint8Array) =>
      new Uint8Array(structuredClone(bytes.buffer, { transfer: [bytes.buffer as ArrayBuffer] }));
    const source = pattern(SIZE).slice();
    const registering = a.register(source);
    const held = detach(source);
    const from = await registering;
    expect([from.length, from.bytes.length]).toEqual([SIZE, SIZE]);
    const target = new Uint8Array(SIZE + 100).subarray(100);
    const into = await b.register(target);
    const registered = detach(target);
    const offering = into.offer({ access: 'write', to: toA });
    const offered = detach(into.bytes);
    const offer = await offering;
    const writing = toB.write(from, offer.token);
    const written = detach(from.bytes);
    await writing;
    const { bytes } = await offer.arrived;
    expect(same(bytes, pattern(SIZE))).toBe(true);
    expect(same(into.bytes, pattern(SIZE))).toBe(true);
    const views = [held, registered.subarray(100), offered, written];
    for (const view of views) expect(same(view, pattern(SIZE))).toBe(true);
    const back = await into.offer({ access: 'read', to: toA });
    const local = await a.register(new Uint8Array(SIZE));
    detach(local.bytes);
    const reading = toB.read(back.token, local);
    detach(local.bytes);
    await reading;
    expect(same(local.bytes, pattern(SIZE))).toBe(true);
  });

  test('memory of the engine and of its pools cannot be transferred to another thread', async () => {
    const engine = (await enginePair(options)).a;
    const lease = await engine.pool({ size: SIZE, count: 1 }).acquire();
    const { port1 } = new MessageChannel();
    for (const { bytes } of [await engine.allocate(SIZE), lease]) {
      for (const transfer of [
        () => port1.postMessage(bytes, [bytes.buffer as ArrayBuffer]),
        () => structuredClone(bytes, { transfer: [bytes.buffer as ArrayBuffer] }),
      ]) {
        try {
          transfer(); // Node.js 20 copies
        } catch (error) {
          expect(error).toMatchObject({ name: 'DataCloneError' });
        }
        expect(bytes.length).toBe(SIZE);
      }
    }
    port1.close();
    const shared = await engine.allocate(SIZE, { shared: true });
    expect(shared.bytes.buffer).toBeInstanceOf(SharedArrayBuffer);
  });

  test('an offer to read rejects if the peer aborts, or never reads', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const source = await filled(b, 8 * SIZE);
    const into = await a.register(new Uint8Array(8 * SIZE));
    const offer = await source.offer({ access: 'read', to: toA });
    const aborting = new AbortController();
    const reading = toB.read(offer.token, into, { signal: aborting.signal });
    await null; // it has begun
    aborting.abort();
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
    await offer.released;
    // All bytes may have been read before the abort.
    const [outcome] = await Promise.allSettled([offer.arrived]);
    if (outcome.status === 'rejected') expect(outcome.reason.code).toBe('FI_ECONNABORTED');
    else expect(same(into.bytes, source.bytes)).toBe(true);
    const never = await source.offer({ access: 'read', to: toA, expires: 1 });
    await expect(never.arrived).rejects.toMatchObject({ code: 'FI_ETIMEDOUT' });
    await expect(never.arrived).rejects.toBeInstanceOf(TransferError);
  });

  test.each(['write', 'read'] as const)(
    'a %s arrives, although its engine closes at once',
    async (access) => {
      const { a, b, toA, toB } = await enginePair(options);
      const ours = await filled(a);
      const theirs = await filled(b);
      const offer = await theirs.offer({ access, to: toA });
      await (access === 'write' ? toB.write(ours, offer.token) : toB.read(offer.token, ours));
      await a.close();
      expect((await offer.arrived).length).toBe(SIZE);
      await offer.released;
    },
  );

  test('a repeated offer to read yields each time that the peer has read it', async () => {
    // A slice that is sent twice ends the repetition: this must not happen on a busy machine.
    const { a, b, toA, toB } = await enginePair({ ...options, stall: 60_000 });
    const source = await filled(b);
    const into = await a.allocate(SIZE);
    const offer = await source.offer({ access: 'read', to: toA, repeat: true });
    let transfer = toB.read(offer.token, into);
    let rounds = 0;
    for await (const { length } of offer) {
      await transfer;
      expect(length).toBe(SIZE);
      expect(same(into.bytes, source.bytes)).toBe(true);
      if (++rounds === 5) break;
      source.bytes.fill(rounds);
      transfer = transfer.repeat();
    }
    await offer.close();
    expect(b.stats().offers).toMatchObject({ arrived: 5, failed: 0 });
  });

  test('slices of slices, and of pages, move their own bytes', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const from = await filled(a);
    const into = await b.allocate(SIZE);
    const part = from.slice(1000, 10_000).slice(100, 600);
    expect(same(part.bytes, from.bytes.subarray(1100, 1600))).toBe(true);
    const pages = into.pages({ indices: [5, 1, 2], size: 300 });
    expect(pages.contiguous).toBe(false);
    expect(() => pages.bytes).toThrow(/not contiguous/);
    // The last 100 bytes of page 5, all of pages 1 and 2 but the last 200 bytes.
    const offer = await pages.slice(200, 700).offer({ access: 'write', to: toA });
    await toB.write(part, offer.token);
    expect((await offer.arrived).length).toBe(500);
    expect(same(into.bytes.subarray(1700, 1800), part.bytes.subarray(0, 100))).toBe(true);
    expect(same(into.bytes.subarray(300, 700), part.bytes.subarray(100))).toBe(true);
    expect(into.bytes.subarray(700).every((byte, i) => byte === 0 || (i >= 1000 && i < 1100))).toBe(
      true,
    );
  });
});

test('empty memory and empty parts are refused with the reason', async () => {
  const { a } = await enginePair({ provider: 'shm' });
  const memory = await a.allocate(4096);
  expect(() => memory.slice(0, 0)).toThrow(/end must be greater than start: a transfer has/);
  expect(() => memory.slice(4096)).toThrow(/end must be greater than start: a transfer has/);
  expect(() => memory.slice(10).slice(4086)).toThrow(/end must be greater than start/);
  expect(() => memory.slice(10, 20).slice(5, 11)).toThrow(/end must be .*from 6 to 10/);
  expect(() => memory.slice(10, 9)).toThrow(/end must be/);
  expect(() => memory.pages({ indices: [], size: 4096 })).toThrow(/is empty: a transfer has/);
  await expect(a.allocate(0)).rejects.toThrow(/length must be at least 1/);
  await expect(a.register(new Uint8Array(0))).rejects.toThrow(/bytes is empty: a transfer has/);
});

const tcp = { provider: 'tcp', node: '127.0.0.1' };

test.for(
  MAPPED_OR_NOT.flatMap(([provider, mapMemory]) =>
    [4096, 64 * 2 ** 20].map((length) => ({ provider, mapMemory, length })),
  ),
)(
  '$provider, mapped: $mapMemory: memory of $length bytes that closes ends its transfers on both sides',
  async ({ provider, mapMemory, length }) => {
    const { a, b, toA, toB } = await enginePair({ provider, mapMemory, ...loopback(provider) });
    for (const access of ['write', 'read'] as const) {
      const [ours, theirs] = [await a.allocate(length), await b.allocate(length)];
      const offer = await theirs.offer({ access, to: toA });
      const transfer =
        access === 'write' ? toB.write(ours, offer.token) : toB.read(offer.token, ours);
      const closing = ours.close();
      await expect(transfer).rejects.toMatchObject({ code: 'ERR_CLOSED' });
      await closing;
      await transfer.released;
      const end = await offer.arrived.then(
        () => 'arrived',
        ({ code }) => code,
      );
      // A short transfer may have ended before its memory was closed.
      if (length > 4096 || end !== 'arrived') expect(end).toBe('FI_ECONNABORTED');
      await theirs.close();
    }
  },
);

test('memory and peers of another engine are refused, and closed peers', async () => {
  const { a, b, toA, toB } = await enginePair(tcp);
  const other = await enginePair(tcp);
  const [ours, theirs] = [await a.allocate(4096), await b.allocate(4096)];
  const [toWrite, toRead] = await Promise.all(
    (['write', 'read'] as const).map((access) => theirs.offer({ access, to: toA })),
  );
  const refused = (text: string) => ({
    code: 'ERR_INVALID_ARG_VALUE',
    message: expect.stringContaining(`of another engine: ${text}`),
  });
  const memories = [theirs, theirs.slice(0, 8), theirs.pages({ indices: [0], size: 64 })];
  for (const memory of memories) {
    const write = async () => toB.write(memory, toWrite?.token as string);
    await expect(write()).rejects.toMatchObject(refused('allocate or register'));
    const read = async () => toB.read(toRead?.token as string, memory);
    await expect(read()).rejects.toMatchObject(refused('allocate or register'));
  }
  const toOwn = theirs.offer({ access: 'write', to: toB });
  await expect(toOwn).rejects.toMatchObject(refused('use engine.peer'));
  await expect((async () => a.group([other.toB]))()).rejects.toMatchObject(
    refused('use engine.peer'),
  );
  await expect(toB.write(ours, toWrite?.token as string)).resolves.toBeDefined();
  await toA.close();
  const late = theirs.offer({ access: 'write', to: toA });
  await expect(late).rejects.toMatchObject({ code: 'ERR_CLOSED', message: 'the peer is closed' });
});

test('a rail has the NUMA node of its network interface', async () => {
  const fake = new FakeSysfs();
  const { SYSFS_PATH } = process.env;
  onTestFinished(() => {
    fake.remove();
    process.env.SYSFS_PATH = SYSFS_PATH;
  });
  const { a: plain } = await enginePair(tcp);
  const file = `class/net/${plain.rails[0]?.nic}/device/numa_node`;
  fake.put({ [file]: 1 });
  process.env.SYSFS_PATH = fake.root;
  const { a: engine } = await enginePair(tcp);
  expect(plain.rails[0]?.numaNode).toBeNull();
  expect(engine.rails[0]?.numaNode).toBe(1);
  writeFileSync(join(fake.root, file), '-1\n');
  expect((await enginePair(tcp)).a.rails[0]?.numaNode).toBeNull();
});

test('memory comes from a NUMA node, and a node that does not exist is refused', async () => {
  const { a } = await enginePair(tcp);
  const memory = await a.allocate(1 << 20, { numaNode: 0 });
  memory.bytes.fill(1);
  expect(readFileSync('/proc/self/numa_maps', 'utf8')).toMatch(/ prefer(=static|=relative)?:0 /);
  await expect(a.allocate(4096, { numaNode: 1023 })).rejects.toMatchObject({
    code: 'FI_ENODEV',
    message: expect.stringContaining('there is no NUMA node 1023 with memory'),
  });
  await expect(a.allocate(4096, { numaNode: -1 })).rejects.toThrow(RangeError);
});

test('efa: memory is registered on the NICs that the program names, and moves over these', async () => {
  const { a, b, toA, toB } = await enginePair({ provider: 'efa', stall: 60_000 });
  const nic = (engine: TransferEngine, i: number) => engine.rails[i]?.nic as string;
  const bytes = pattern(SIZE);
  const from = await a.register(bytes, { nics: [nic(a, 0), nic(a, 3)] });
  const into = await b.allocate(SIZE, { nics: [nic(b, 2)] });
  expect(from.registration.map((took) => took !== null)).toEqual([true, false, false, true]);
  expect(into.registration.map((took) => took !== null)).toEqual([false, false, true, false]);
  const offer = await into.offer({ access: 'write', to: toA });
  expect(toB.grant(offer.token).rails.map((rail) => rail !== undefined)).toEqual([
    false,
    false,
    true,
    false,
  ]);
  const { rails, retries } = await toB.write(from, offer.token);
  expect(same((await offer.arrived).bytes, bytes)).toBe(true);
  expect(retries).toBe(0);
  expect([rails[1]?.byteLength, rails[2]?.byteLength]).toEqual([0, 0]);
  expect(b.rails.map(({ arrivals }) => arrivals > 0)).toEqual([false, false, true, false]);

  const back = await into.offer({ access: 'read', to: toA });
  from.bytes.fill(0);
  await toB.read(back.token, from);
  expect(same(from.bytes, pattern(SIZE))).toBe(true);
  await expect(a.register(bytes, { nics: ['nonesuch'] })).rejects.toThrow(
    /nics has nonesuch, but the NICs are softefa_0/,
  );
  await expect(a.allocate(1, { nics: [] })).rejects.toThrow(/options.nics is empty/);
});
