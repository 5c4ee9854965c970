// Registering memory of a GPU: what is accepted, and a typed error for everything else, which leaves nothing behind.
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DeviceMemory, dumpState, getInfo, open, version } from 'libfabric';
import { describe, expect, type TestContext, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { accessOf, FakeGpu, whyNoDmabuf } from '../support/device-memory.js';
import { closing, fabricError, Pair } from '../support/transfer.js';

const PAGE = 4096;
const LOCAL = ['FI_SEND', 'FI_RECV', 'FI_READ', 'FI_WRITE'] as const;

const openDirect = async () =>
  closing(await open({ provider: 'efa', fabric: 'efa-direct', caps: ['FI_MSG', 'FI_RMA'] }));

function needsDmabufs(context: TestContext): void {
  const reason = whyNoDmabuf('efa-direct');
  context.skip(reason !== undefined, reason);
}

/** The resources that a registration could leave: descriptors, mappings of the device, and regions. */
function leftovers() {
  const descriptors = readdirSync('/proc/self/fd').length;
  const mapped =
    readFileSync('/proc/self/maps', 'latin1').match(/libfabric-test-gpu/g)?.length ?? 0;
  const regions = dumpState().domains.map(({ engine }) => engine?.memory.regions);
  return { descriptors, mapped, regions };
}

describe('wrong memory', () => {
  const misuse: [string, unknown, string, RegExp][] = [
    ['no type', { fd: 0, offset: 0, byteLength: 1 }, 'ERR_INVALID_ARG_TYPE', /device memory/],
    [
      'another type',
      { type: 'metal' },
      'ERR_INVALID_ARG_VALUE',
      /memory.type must be one of 'dmabuf'/,
    ],
    [
      'no length',
      { type: 'dmabuf', fd: 0, offset: 0 },
      'ERR_INVALID_ARG_TYPE',
      /memory.byteLength/,
    ],
    [
      'length 0',
      { type: 'dmabuf', fd: 0, offset: 0, byteLength: 0 },
      'ERR_OUT_OF_RANGE',
      /byteLength/,
    ],
    [
      'half a byte',
      { type: 'dmabuf', fd: 0, offset: 0, byteLength: 0.5 },
      'ERR_OUT_OF_RANGE',
      /byteLength/,
    ],
    [
      'a negative descriptor',
      { type: 'dmabuf', fd: -1, offset: 0, byteLength: 1 },
      'ERR_OUT_OF_RANGE',
      /memory.fd/,
    ],
    [
      'a wide descriptor',
      { type: 'dmabuf', fd: 2 ** 31, offset: 0, byteLength: 1 },
      'ERR_OUT_OF_RANGE',
      /memory.fd/,
    ],
    [
      'no descriptor',
      { type: 'dmabuf', offset: 0, byteLength: 1 },
      'ERR_INVALID_ARG_TYPE',
      /memory.fd/,
    ],
    [
      'a negative offset',
      { type: 'dmabuf', fd: 0, offset: -1, byteLength: 1 },
      'ERR_OUT_OF_RANGE',
      /memory.offset/,
    ],
    [
      'an end past 2^53',
      { type: 'dmabuf', fd: 0, offset: 2 ** 53 - 2, byteLength: 2 },
      'ERR_OUT_OF_RANGE',
      /memory.offset/,
    ],
    [
      'a misspelt member',
      { type: 'dmabuf', fd: 0, offset: 0, byteLength: 1, ofset: 1 },
      'ERR_INVALID_ARG_VALUE',
      /ofset/,
    ],
    [
      'a pointer that is a number',
      { type: 'cuda', pointer: 4096, byteLength: 1, device: 0 },
      'ERR_INVALID_ARG_TYPE',
      /memory.pointer/,
    ],
    [
      'a null pointer',
      { type: 'cuda', pointer: 0n, byteLength: 1, device: 0 },
      'ERR_INVALID_ARG_VALUE',
      /memory.pointer is 0/,
    ],
    [
      'a wide pointer',
      { type: 'rocr', pointer: 2n ** 64n, byteLength: 1, device: 0 },
      'ERR_OUT_OF_RANGE',
      /memory.pointer/,
    ],
    [
      'an end past 2^64',
      { type: 'ze', pointer: 2n ** 64n - 1n, byteLength: 2, device: 0 },
      'ERR_INVALID_ARG_VALUE',
      /last address/,
    ],
    [
      'no device',
      { type: 'neuron', pointer: 1n, byteLength: 1 },
      'ERR_INVALID_ARG_TYPE',
      /memory.device/,
    ],
    [
      'a wide device',
      { type: 'synapseai', pointer: 1n, byteLength: 1, device: 2 ** 31 },
      'ERR_OUT_OF_RANGE',
      /memory.device/,
    ],
  ];

  test.each(misuse)('%s is refused', async (_name, memory, code, message) => {
    const ep = closing(await open({ provider: 'shm', caps: ['FI_MSG'] }));
    const registering = ep.domain.register(memory as DeviceMemory, ['FI_SEND']);
    await expect(registering).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });

  test('members are read once', async () => {
    const ep = closing(await open({ provider: 'shm', caps: ['FI_MSG'] }));
    let reads = 0;
    const memory = {
      type: 'dmabuf',
      offset: 0,
      byteLength: PAGE,
      get fd() {
        return reads++ === 0 ? 1 : -1;
      },
    } as const;
    const error = await ep.domain.register(memory, ['FI_SEND']).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'FabricError' });
  });
});

describe('memory that cannot be registered', () => {
  test('a dmabuf with a provider that copies with the CPU', async () => {
    const ep = closing(await open({ provider: 'shm', caps: ['FI_MSG'] }));
    const gpu = new FakeGpu(PAGE);
    const before = leftovers();
    const { major, minor } = version();
    const old = major === 1 && minor < 20;
    await expect(ep.domain.register(gpu.part(0, PAGE), ['FI_SEND'])).rejects.toMatchObject({
      code: old ? 'FI_ENOSYS' : 'FI_EOPNOTSUPP',
      syscall: 'fi_mr_regattr',
      message: expect.stringMatching(
        old ? /needs libfabric 1.20/ : /other providers copy with the CPU/,
      ),
    });
    expect(leftovers()).toEqual(before);
  });

  test('efa-direct: a dmabuf with an API version before 1.20', async (context) => {
    needsDmabufs(context);
    const ep = closing(
      await open({ provider: 'efa', fabric: 'efa-direct', caps: ['FI_RMA'], apiVersion: '1.18' }),
    );
    const gpu = new FakeGpu(PAGE);
    await expect(ep.domain.register(gpu.part(0, PAGE), LOCAL)).rejects.toMatchObject({
      code: 'FI_ENOSYS',
      message: expect.stringMatching(
        /API version 1.20 or later, and the entry was requested with 1.18/,
      ),
    });
  });

  test('a pointer without FI_HMEM', async () => {
    for (const provider of ['shm', 'efa']) {
      const ep = closing(await open({ provider, caps: ['FI_MSG'] }));
      for (const type of ['cuda', 'rocr', 'ze', 'neuron', 'synapseai'] as const) {
        const memory = { type, pointer: 0x7000_0000_0000n, byteLength: PAGE, device: 0 } as const;
        await expect(ep.domain.register(memory, ['FI_SEND'])).rejects.toMatchObject({
          code: 'FI_EOPNOTSUPP',
          message: expect.stringMatching(/needs an entry with the capability FI_HMEM/),
        });
      }
    }
  });

  test('a pointer of a library that is not there', async () => {
    const ep = closing(await open({ provider: 'shm', caps: ['FI_MSG', 'FI_HMEM'] }));
    expect(ep.info.domainAttr.mrMode).toContain('FI_MR_HMEM');
    const before = leftovers();
    for (const type of ['cuda', 'rocr', 'ze', 'neuron', 'synapseai'] as const) {
      const memory = { type, pointer: 0x7000_0000_0000n, byteLength: PAGE, device: 0 } as const;
      await expect(ep.domain.register(memory, ['FI_SEND'])).rejects.toMatchObject({
        code: 'FI_ENOSYS',
        hint: expect.stringMatching(/built without support for the device/),
      });
    }
    expect(leftovers()).toEqual(before);
  });

  test('efa has FI_HMEM only with the library of a device', async (context) => {
    const hints = { fabricAttr: { provName: 'efa' }, caps: ['FI_HMEM'] } as const;
    context.skip(getInfo(hints).length > 0, 'this machine has a device');
    await expect(open({ provider: 'efa', caps: ['FI_HMEM'] })).rejects.toEqual(
      fabricError('FI_ENODATA'),
    );
  });

  test('efa-direct: wrong descriptors, offsets and lengths', async (context) => {
    needsDmabufs(context);
    const ep = await openDirect();
    const gpu = new FakeGpu(2 * PAGE);
    const closed = openSync('/dev/null', 'r');
    const readOnly = openSync(`/proc/self/fd/${gpu.fd}`, 'r');
    const folder = openSync('/', 'r');
    const own = mkdtempSync(join(tmpdir(), 'libfabric-test-'));
    execFileSync('mkfifo', [join(own, 'pipe')]);
    const pipe = openSync(join(own, 'pipe'), 'r+');
    const device = openSync('/dev/null', 'r+');
    closeSync(closed);
    const before = leftovers();
    const wrong: [DeviceMemory, string][] = [
      [{ type: 'dmabuf', fd: closed, offset: 0, byteLength: 1 }, 'FI_EBADF'],
      [{ type: 'dmabuf', fd: 1_000_000, offset: 0, byteLength: 1 }, 'FI_EBADF'],
      [{ type: 'dmabuf', fd: folder, offset: 0, byteLength: 1 }, 'FI_EINVAL'],
      [{ type: 'dmabuf', fd: pipe, offset: 0, byteLength: 1 }, 'FI_EINVAL'],
      [{ type: 'dmabuf', fd: device, offset: 0, byteLength: 1 }, 'FI_EINVAL'],
      [{ type: 'dmabuf', fd: readOnly, offset: 0, byteLength: 1 }, 'FI_EACCES'],
      [gpu.part(0, 2 * PAGE + 1), 'FI_EINVAL'],
      [gpu.part(PAGE, PAGE + 1), 'FI_EINVAL'],
      [gpu.part(2 * PAGE, 1), 'FI_EINVAL'],
      [gpu.part(2 ** 40, 1), 'FI_EINVAL'],
      [gpu.part(0, 2 ** 40), 'FI_EINVAL'],
      [gpu.part(0, 2 ** 52), 'FI_ENOMEM'],
    ];
    for (const [memory, code] of wrong) {
      const registering = ep.domain.register(memory, LOCAL);
      await expect(registering, JSON.stringify(memory)).rejects.toEqual(fabricError(code));
    }
    const [error] = await Promise.allSettled([ep.domain.register(gpu.part(0, 2 ** 20), LOCAL)]);
    expect(error).toMatchObject({
      reason: { hint: expect.stringMatching(/outside of the dmabuf/) },
    });
    expect(leftovers()).toEqual(before);
    for (const fd of [readOnly, folder, pipe, device]) closeSync(fd);
    rmSync(own, { recursive: true });
  });
});

describe('efa-direct', () => {
  test('the descriptor may be closed and reused at once', async (context) => {
    needsDmabufs(context);
    const a = await openDirect();
    const pair = new Pair(a, await openDirect());
    const gpu = new FakeGpu(PAGE);
    gpu.fill(pattern(PAGE, 3));
    const other = new FakeGpu(PAGE);
    const registering = a.domain.register({ ...gpu.part(0, PAGE) }, LOCAL);
    gpu.close();
    const reused = openSync(`/proc/self/fd/${other.fd}`, 'r+');
    expect(reused).toBe(gpu.fd);
    const region = await registering;
    closeSync(reused);
    const host = await pair.b.domain.allocate(PAGE, ['FI_REMOTE_WRITE']);
    await a.write(region, pair.toB, a.domain.remote(host.descriptor()));
    expectBytes(host.bytes, pattern(PAGE, 3));
  });

  test('1000 registrations leave nothing behind', async (context) => {
    needsDmabufs(context);
    const ep = await openDirect();
    const gpu = new FakeGpu(16 * PAGE);
    const before = leftovers();
    for (let i = 0; i < 1000; i += 50) {
      const parts = Array.from({ length: 50 }, (_, n) => gpu.part(n * 100, 9 * PAGE));
      const regions = await Promise.all(parts.map((part) => ep.domain.register(part, LOCAL)));
      expect(new Set(regions.map(({ address }) => address)).size).toBe(50);
      expect(leftovers()).toMatchObject({ descriptors: before.descriptors, mapped: 50 });
      await Promise.all(regions.map((region) => region.close()));
      expect(regions.map(accessOf)).not.toContain('---p');
    }
    expect(leftovers()).toEqual(before);
  });

  test('a region that was closed is gone for peers and for later operations', async (context) => {
    needsDmabufs(context);
    const a = await openDirect();
    const { b, toB } = new Pair(a, await openDirect());
    const gpu = new FakeGpu(PAGE);
    const region = await b.domain.register(gpu.part(0, PAGE), ['FI_REMOTE_WRITE']);
    const remote = a.domain.remote(region.descriptor());
    await a.write(pattern(PAGE), toB, remote);
    await region.close();
    await expect(a.write(pattern(PAGE, 2), toB, remote)).rejects.toMatchObject({
      name: 'FabricError',
    });
    expectBytes(gpu.bytes(), pattern(PAGE));
    await expect(b.recv(region)).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  });

  test('closing the domain releases the memory', async (context) => {
    needsDmabufs(context);
    const gpu = new FakeGpu(PAGE);
    const before = leftovers();
    const ep = await open({ provider: 'efa', fabric: 'efa-direct', caps: ['FI_RMA'] });
    const region = await ep.domain.register(gpu.part(0, PAGE), LOCAL);
    expect(leftovers().mapped).toBe(1);
    const registering = ep.domain.register(gpu.part(0, PAGE), LOCAL).catch(() => {});
    await ep.close();
    await registering;
    expect(region.closed).toBe(true);
    expect(accessOf(region)).toBeUndefined();
    expect(leftovers()).toMatchObject({ mapped: 0, regions: before.regions });
  });
});
