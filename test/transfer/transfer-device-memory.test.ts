// Transfers of memory of GPUs, over efa-direct: the host has no access to it.
import { FakeGpu, whyNoDmabuf } from '../support/device-memory.js';
import '../support/softefa.js';
import { closeSync, openSync } from 'node:fs';
import { getInfo } from 'libfabric';
import { TransferEngine } from 'libfabric/transfer';
import { beforeEach, describe, expect, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { enginePair } from '../support/engines.js';

const OPTIONS = { provider: 'efa', fabric: 'efa-direct', nics: 2 } as const;
const MIB = 1 << 20;
const PAGE = 4096;
const state = { code: 'ERR_INVALID_STATE', message: expect.stringMatching(/is on a device/) };

describe('efa-direct', () => {
  beforeEach((context) => {
    const reason = whyNoDmabuf('efa-direct');
    context.skip(reason !== undefined, reason);
  });

  test('device memory is written to device memory and read from it', async () => {
    const { a, b, toA, toB } = await enginePair(OPTIONS);
    const [near, far] = [new FakeGpu(9 * MIB), new FakeGpu(9 * MIB)];
    const from = await a.register(near.part(100, 8 * MIB));
    const into = await b.register(far.part(PAGE, 8 * MIB));
    expect(from).toMatchObject({ length: 8 * MIB, numaNode: null });
    for (const [seed, offset, length] of [
      [1, 0, 8 * MIB],
      [2, 12_345, 3 * MIB],
      [3, 7, 100],
    ] as const) {
      near.fill(pattern(9 * MIB, seed));
      far.fill(new Uint8Array(9 * MIB));
      const offer = await into.slice(offset, offset + length).offer({ access: 'write', to: toA });
      await toB.write(from.slice(offset, offset + length), offer.token);
      const arrival = await offer.arrived;
      expect(arrival.length).toBe(length);
      expect(() => arrival.bytes).toThrow(expect.objectContaining(state));
      const expected = new Uint8Array(9 * MIB);
      const sent = pattern(9 * MIB, seed).subarray(100 + offset, 100 + offset + length);
      expected.set(sent, PAGE + offset);
      expect(same(far.bytes(), expected)).toBe(true);

      near.fill(new Uint8Array(9 * MIB));
      const back = await into.slice(offset, offset + length).offer({ access: 'read', to: toA });
      await toB.read(back.token, from.slice(offset, offset + length));
      const read = new Uint8Array(9 * MIB);
      read.set(sent, 100 + offset);
      expect(same(near.bytes(), read)).toBe(true);
    }
    expect(() => from.bytes).toThrow(expect.objectContaining(state));
    expect(() => into.slice(0, 8).bytes).toThrow(expect.objectContaining(state));
  });

  test('pages of device memory go to memory of the host', async () => {
    const { a, b, toA, toB } = await enginePair(OPTIONS);
    const gpu = new FakeGpu(64 * PAGE);
    gpu.fill(pattern(64 * PAGE, 9));
    const cache = await a.register(gpu.part(0, 64 * PAGE));
    const into = await b.allocate(3 * PAGE);
    const offer = await into.offer({ access: 'write', to: toA });
    await toB.write(cache.pages({ indices: [40, 3, 17], size: PAGE }), offer.token);
    const { bytes } = await offer.arrived;
    const page = (i: number) => pattern(64 * PAGE, 9).subarray(i * PAGE, (i + 1) * PAGE);
    expect(same(bytes, Buffer.concat([page(40), page(3), page(17)]))).toBe(true);
  });

  test('memory keeps its dmabuf when the descriptor is closed and reused', async () => {
    const { a, b, toA, toB } = await enginePair(OPTIONS);
    const [gpu, other] = [new FakeGpu(MIB), new FakeGpu(MIB)];
    gpu.fill(pattern(MIB, 4));
    const { fd } = gpu;
    const into = await b.register(gpu.part(0, MIB));
    const copy = openSync(`/proc/self/fd/${fd}`, 'r+');
    gpu.close();
    const reused = openSync(`/proc/self/fd/${other.fd}`, 'r+');
    expect(reused).toBe(fd);
    const offer = await into.offer({ access: 'read', to: toA });
    const back = await a.allocate(MIB);
    await toB.read(offer.token, back);
    expect(same(back.bytes, pattern(MIB, 4))).toBe(true);
    closeSync(reused);
    closeSync(copy);
    await into.close();
  });

  test('a closed descriptor and a range outside are refused', async () => {
    const engine = await TransferEngine.open(OPTIONS);
    const gpu = new FakeGpu(PAGE);
    const outside = engine.register(gpu.part(0, PAGE + 1));
    await expect(outside).rejects.toMatchObject({ code: 'FI_EINVAL' });
    const closed = engine.register({ type: 'dmabuf', fd: 1_000_000, offset: 0, byteLength: 1 });
    await expect(closed).rejects.toMatchObject({ code: 'FI_EBADF' });
    await engine.close();
  });
});

test('over the fabric efa, transfers of device memory are refused with the reason', async (context) => {
  const reason = whyNoDmabuf('efa-direct');
  context.skip(reason !== undefined, reason);
  const { a, b, toA, toB } = await enginePair({ provider: 'efa' });
  const gpu = new FakeGpu(MIB);
  const from = await a.register(gpu.part(0, MIB));
  const into = await b.register(new Uint8Array(MIB));
  const offer = await into.offer({ access: 'write', to: toA });
  await expect(toB.write(from, offer.token)).rejects.toMatchObject({
    code: 'FI_EOPNOTSUPP',
    message: expect.stringMatching(/efa-direct/),
  });
  await expect(from.offer({ access: 'read', to: toB })).rejects.toMatchObject({
    code: 'FI_EOPNOTSUPP',
    message: expect.stringMatching(/only on the fabric efa-direct/),
  });
});

describe('a pointer of a device', () => {
  const memory = { type: 'cuda', pointer: 0x7000_0000_0000n, byteLength: PAGE, device: 0 } as const;

  test('is refused by an engine that was opened without FI_HMEM, with the option that it needs', async () => {
    const engine = await TransferEngine.open({ provider: 'tcp', node: '127.0.0.1' });
    await expect(engine.register(memory)).rejects.toMatchObject({
      code: 'FI_EOPNOTSUPP',
      message: expect.stringMatching(/open the engine with `hmem: true`/),
    });
    await engine.close();
  });

  test.for([{ provider: 'shm' }, { provider: 'efa' }, { provider: 'efa', fabric: 'efa-direct' }])(
    'needs a libfabric with CUDA: $provider $fabric',
    async (options, context) => {
      const found = getInfo({ caps: ['FI_HMEM'], fabricAttr: { provName: options.provider } });
      context.skip(found.length > 0, 'this libfabric has FI_HMEM');
      await expect(TransferEngine.open({ ...options, hmem: true })).rejects.toMatchObject({
        code: 'FI_ENODATA',
        message: expect.stringMatching(/FI_HMEM/),
      });
    },
  );

  test('needs a provider with FI_HMEM, whichever it is', async (context) => {
    const found = getInfo({ caps: ['FI_HMEM'] }).length > 0;
    context.skip(found, 'this libfabric has FI_HMEM');
    await expect(TransferEngine.open({ hmem: true })).rejects.toMatchObject({
      code: 'FI_ENODATA',
      message: expect.stringMatching(/FI_HMEM/),
    });
  });
});

test('with a provider that copies with the CPU, device memory is refused', async () => {
  const engine = await TransferEngine.open({ provider: 'tcp', node: '127.0.0.1' });
  const gpu = new FakeGpu(PAGE);
  const registering = engine.register(gpu.part(0, PAGE));
  await expect(registering).rejects.toMatchObject({
    code: expect.stringMatching(/^FI_E(NOSYS|OPNOTSUPP)$/),
  });
  await engine.close();
});
