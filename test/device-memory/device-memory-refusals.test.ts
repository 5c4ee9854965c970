// Operations for which the host would access memory of a GPU are refused before they are posted, with the reason.
import { inspect } from 'node:util';
import { type MemoryRegion, open, type WritableOptions } from 'libfabric';
import { beforeEach, describe, expect, test } from 'vitest';
import { native } from '../../dist/contract/native.js';
import { expectBytes, pattern } from '../support/bytes.js';
import { FakeGpu, whyNoDmabuf } from '../support/device-memory.js';
import { closing, Pair } from '../support/transfer.js';

const PAGE = 4096;
const LOCAL = ['FI_SEND', 'FI_RECV', 'FI_READ', 'FI_WRITE'] as const;
const NOT_SHARED = { FI_OPT_SHARED_MEMORY_PERMITTED: false } as const;

async function connect<const C extends 'FI_TAGGED' | 'FI_ATOMIC' | 'FI_MULTI_RECV' | 'FI_RMA'>(
  fabric: 'efa' | 'efa-direct',
  caps: readonly C[],
  options: WritableOptions = {},
) {
  const opening = { provider: 'efa', fabric, caps: ['FI_MSG', ...caps], options } as const;
  const a = closing(await open(opening));
  const pair = new Pair<'FI_EP_RDM', 'FI_MSG' | C>(a, closing(await open(opening)));
  const gpu = new FakeGpu(4 * PAGE);
  gpu.fill(pattern(4 * PAGE));
  const region = await a.domain.register(gpu.part(0, 4 * PAGE), LOCAL);
  return { ...pair, gpu, region };
}

const refused = (why: RegExp) => ({
  name: 'FabricError',
  code: 'FI_EOPNOTSUPP',
  message: expect.stringMatching(why),
});

function expectNoBytes(region: MemoryRegion): void {
  const state = { code: 'ERR_INVALID_STATE', message: expect.stringMatching(/is on a device/) };
  expect(() => region.bytes).toThrow(expect.objectContaining(state));
  expect(() => region.buffer).toThrow(expect.objectContaining(state));
  expect(() => region.slice(0, 8).bytes).toThrow(expect.objectContaining(state));
}

describe('efa-direct', () => {
  beforeEach((context) => {
    const reason = whyNoDmabuf('efa-direct');
    context.skip(reason !== undefined, reason);
  });

  test('the host has no bytes of a region', async () => {
    const { a, toB, region } = await connect('efa-direct', ['FI_RMA']);
    expectNoBytes(region);
    expect(inspect(region)).toMatch(/deviceAccess: 'FI_MR_DMABUF'/);
    expect(inspect(region.slice(1, 3))).toMatch(/RegionSlice/);
    const type = { code: 'ERR_INVALID_ARG_TYPE' };
    await expect(a.inject(region as never, toB)).rejects.toMatchObject(type);
    const batch = a.batch();
    batch.send(region.slice(0, 100), toB);
    const until = { byte: region, value: 1 };
    await expect(batch.submit({ times: 1, until })).rejects.toThrow(
      /options.until.byte is on a device/,
    );
    batch.close();
  });

  test('messages that the CPU would copy are refused, and the endpoint still works', async () => {
    const { a, b, toB, gpu, region } = await connect('efa-direct', ['FI_RMA']);
    const small = refused(/fit into a work request/);
    await expect(a.send(region.slice(0, 32), toB)).rejects.toMatchObject(small);
    await expect(a.send(region.slice(0, 1), toB)).rejects.toMatchObject(small);
    await expect(a.senddata(region.slice(0, 8), 1n, toB)).rejects.toMatchObject(small);
    const parts = [region.slice(0, 16), region.slice(64, 80)];
    await expect(a.sendv(parts, toB)).rejects.toMatchObject(small);
    await expect(a.sendv([new Uint8Array(8), region.slice(0, 8)], toB)).rejects.toMatchObject(
      small,
    );
    const inject = a.send(region.slice(0, 16), toB, { flags: ['FI_INJECT'] });
    await expect(inject).rejects.toMatchObject(refused(/FI_INJECT copies/));
    const batch = a.batch();
    batch.send(region.slice(0, 100), toB);
    batch.send(region.slice(0, 8), toB);
    const target = new Uint8Array(100);
    for (let round = 0; round < 3; round++) {
      const received = b.recv(target);
      await expect(batch.submit()).rejects.toMatchObject({ ...small, index: 1 });
      await received;
      expectBytes(target, pattern(4 * PAGE).subarray(0, 100));
    }
    batch.close();
    expectBytes(gpu.bytes(), pattern(4 * PAGE));
  });

  test('a smaller FI_OPT_INJECT_MSG_SIZE does not permit smaller messages', async () => {
    const { a, toB, region } = await connect('efa-direct', ['FI_RMA'], {
      FI_OPT_INJECT_MSG_SIZE: 1,
    });
    expect(a.getOption('FI_OPT_INJECT_MSG_SIZE')).toBe(1);
    const small = refused(/fit into a work request/);
    await expect(a.send(region.slice(0, 32), toB)).rejects.toMatchObject(small);
  });

  test('an endpoint without RMA receives into host memory first', async () => {
    const { a, region } = await connect('efa-direct', []);
    const received = a.recv(region);
    await expect(received).rejects.toMatchObject(refused(/receives into host memory first/));
  });
});

describe('efa', () => {
  beforeEach((context) => {
    const reason = whyNoDmabuf('efa');
    context.skip(reason !== undefined, reason);
  });

  const options = { FI_OPT_EFA_HOMOGENEOUS_PEERS: true, ...NOT_SHARED };

  test('messages, atomics and multi-receives are refused', async () => {
    const caps = ['FI_TAGGED', 'FI_ATOMIC', 'FI_MULTI_RECV', 'FI_RMA'] as const;
    const { a, b, toB, region } = await connect('efa', caps, options);
    const copies = refused(/copies messages with the CPU/);
    const part = region.slice(0, 2000);
    await expect(a.send(part, toB)).rejects.toMatchObject(copies);
    await expect(a.recv(part)).rejects.toMatchObject(copies);
    await expect(a.tsend(part, toB, 1n)).rejects.toMatchObject(copies);
    await expect(a.trecv(part, null, 1n)).rejects.toMatchObject(copies);
    const host = await b.domain.allocate(64, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
    const remote = a.domain.remote(host.descriptor());
    const sum = a.atomic(region.slice(0, 8), toB, remote, { datatype: 'FI_UINT64', op: 'FI_SUM' });
    await expect(sum).rejects.toMatchObject(refused(/atomics use the CPU/));
    expect(() => a.multiRecv(region)).toThrow(/is on a device/);
    const inject = a.write(region.slice(0, 8), toB, remote, { flags: ['FI_INJECT'] });
    await expect(inject).rejects.toMatchObject(refused(/FI_INJECT copies/));
  });

  test('RMA that the provider might do with the CPU is refused', async () => {
    for (const [given, why] of [
      [NOT_SHARED, /FI_OPT_EFA_HOMOGENEOUS_PEERS/],
      [{ ...options, FI_OPT_EFA_USE_DEVICE_RDMA: false }, /no RDMA for this operation/],
    ] as const) {
      const { a, b, toB, region } = await connect('efa', ['FI_RMA'], given);
      const host = await b.domain.allocate(64, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
      const remote = a.domain.remote(host.descriptor());
      await expect(a.write(region.slice(0, 8), toB, remote)).rejects.toMatchObject(refused(why));
      await expect(a.read(region.slice(0, 8), toB, remote)).rejects.toMatchObject(refused(why));
    }
  });

  test('RMA to peers that are reached through shared memory is refused', async () => {
    const before = process.env.FI_EFA_ENABLE_SHM_TRANSFER;
    process.env.FI_EFA_ENABLE_SHM_TRANSFER = '1';
    try {
      const shared = { FI_OPT_EFA_HOMOGENEOUS_PEERS: true };
      const { a, b, toB, region } = await connect('efa', ['FI_RMA'], shared);
      const host = await b.domain.allocate(64, ['FI_REMOTE_WRITE']);
      const write = a.write(region.slice(0, 8), toB, a.domain.remote(host.descriptor()));
      await expect(write).rejects.toMatchObject(refused(/FI_OPT_SHARED_MEMORY_PERMITTED/));
    } finally {
      process.env.FI_EFA_ENABLE_SHM_TRANSFER = before;
    }
  });

  test('an option that is set later permits RMA, also of a prepared batch', async () => {
    const { a, b, toB, region } = await connect('efa', ['FI_RMA'], NOT_SHARED);
    const host = await b.domain.allocate(64, ['FI_REMOTE_WRITE']);
    const batch = a.batch();
    batch.write(region.slice(0, 64), toB, a.domain.remote(host.descriptor()));
    for (let round = 0; round < 3; round++) {
      await expect(batch.submit()).rejects.toMatchObject(refused(/HOMOGENEOUS_PEERS/));
    }
    a.setOption('FI_OPT_EFA_HOMOGENEOUS_PEERS', true);
    await batch.submit();
    expectBytes(host.bytes, pattern(4 * PAGE).subarray(0, 64));
    batch.close();
  });

  test('a region gives peers no access', async () => {
    const { a, gpu } = await connect('efa', ['FI_RMA'], options);
    for (const right of ['FI_REMOTE_READ', 'FI_REMOTE_WRITE'] as const) {
      const registering = a.domain.register(gpu.part(0, PAGE), [right]);
      await expect(registering).rejects.toMatchObject(refused(/only on the fabric efa-direct/));
    }
  });
});

test('efa-direct: the addon copies nothing from device memory, whatever it is asked', async (context) => {
  const reason = whyNoDmabuf('efa-direct');
  context.skip(reason !== undefined, reason);
  const { a, region } = await connect('efa-direct', ['FI_RMA']);
  const { memoryHandle } = region as unknown as { memoryHandle: number };
  const { handle } = (a as unknown as { limits: { engine: { handle: never } } }).limits.engine;
  const state = expect.objectContaining({ code: 'ERR_CLOSED' });
  expect(() => native.memoryRead(handle, memoryHandle, 0, 8)).toThrow(state);
  expect(() => native.memoryBuffer(handle, memoryHandle)).toThrow(state);
});
