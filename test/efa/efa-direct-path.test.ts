// The direct data path of libfabric 2.3: the efa provider accesses the device's queues without rdma-core.
import { execFileSync } from 'node:child_process';
import { getInfo, open } from 'libfabric';
import { beforeEach, describe, expect, type TestContext, test } from 'vitest';
import '../support/direct-path.js';
import { expectBytes, pattern } from '../support/bytes.js';
import { whyNotDirect } from '../support/direct-library.js';
import { drivers } from '../support/providers.js';
import { namespace, testFaults, withSoftefa } from '../support/softefa.js';
import { closing, Guarded, Pair, pair } from '../support/transfer.js';

const faults = testFaults();

function skipIfNotDirect(context: TestContext, fabric: 'efa' | 'efa-direct') {
  const reason = whyNotDirect(fabric);
  context.skip(reason !== undefined, reason);
}

beforeEach((context) => skipIfNotDirect(context, 'efa-direct'));

/** Returns how many work requests of `work` used the direct data path. */
async function requestsOf(work: () => Promise<void>): Promise<bigint> {
  const before = faults.directRequests;
  await work();
  return faults.directRequests - before;
}

describe.each(drivers)('%s driver', (driver) => {
  test('efa: messages of every protocol arrive intact over the direct data path', async (context) => {
    skipIfNotDirect(context, 'efa');
    const wire = await pair(context, 'efa', ['FI_MSG', 'FI_TAGGED'], driver);
    const sizes = [0, 1, 32, 33, 4096, 8192, 8193, 70_000, 3 << 20];
    const requests = await requestsOf(async () => {
      for (const size of sizes) {
        const target = new Guarded(size);
        const received = wire.b.trecv(target.bytes, null, 7n);
        await wire.done(wire.a.tsend(pattern(size, size), wire.toB, 7n));
        expect(await wire.done(received)).toMatchObject({ length: size });
        expectBytes(target.bytes, pattern(size, size));
        target.expectIntact();
      }
    });
    expect(requests).toBeGreaterThan(BigInt(sizes.length));
  });

  test('efa: writes and reads use the direct data path', async (context) => {
    skipIfNotDirect(context, 'efa');
    const wire = await pair(context, 'efa', ['FI_MSG', 'FI_RMA'], driver);
    const size = 1 << 20;
    const access = ['FI_REMOTE_READ', 'FI_REMOTE_WRITE'] as const;
    const region = await wire.b.domain.allocate(size, access);
    const remote = wire.a.domain.remote(region.descriptor());
    const requests = await requestsOf(async () => {
      await wire.done(wire.a.write(pattern(size, 3), wire.toB, remote));
      const back = new Uint8Array(size);
      await wire.done(wire.a.read(back, wire.toB, remote));
      expectBytes(back, pattern(size, 3));
    });
    expect(requests).toBeGreaterThan(1n);
  });

  test('efa: writes with data resolve arrived() at the peer', async (context) => {
    const wire = await pair(context, 'efa', ['FI_MSG', 'FI_RMA'], driver);
    const region = await wire.b.domain.allocate(4096, ['FI_REMOTE_WRITE']);
    const remote = wire.a.domain.remote(region.descriptor());
    const arrived = wire.b.receiveQueue.arrived(5n);
    await wire.done(wire.a.writedata(pattern(4096), 5n, wire.toB, remote));
    await wire.done(arrived);
    expectBytes(new Uint8Array(region.buffer).subarray(0, 4096), pattern(4096));
  });

  test('efa: each of 5000 messages in flight arrives exactly once', async (context) => {
    const wire = await pair(context, 'efa', ['FI_MSG'], driver);
    const COUNT = 5000;
    const seen = new Set<number>();
    const receive = async () => {
      const bytes = new Uint8Array(4);
      await wire.b.recv(bytes);
      seen.add(new DataView(bytes.buffer).getUint32(0));
    };
    const all = [...Array(COUNT).keys()].flatMap((i) => {
      const bytes = new Uint8Array(4);
      new DataView(bytes.buffer).setUint32(0, i);
      return [receive(), wire.a.send(bytes, wire.toB)];
    });
    await wire.done(Promise.all(all));
    expect(seen.size).toBe(COUNT);
  });
});

test('efa-direct: messages use the direct data path', async (context) => {
  const hints = { fabricAttr: { provName: 'efa', name: 'efa-direct' } } as const;
  context.skip(getInfo(hints).length === 0, 'no efa-direct');
  const options = { provider: 'efa', fabric: 'efa-direct', caps: ['FI_MSG'] } as const;
  const a = closing(await open(options));
  const wire = new Pair(a, closing(await open(options)));
  const requests = await requestsOf(async () => {
    const target = new Uint8Array(4096);
    const received = wire.b.recv(target);
    await wire.done(wire.a.send(pattern(4096), wire.toB));
    await wire.done(received);
    expectBytes(target, pattern(4096));
  });
  expect(requests).toBeGreaterThanOrEqual(2n); // the receive and the send
});

test("efa: an operation fails with the device's status", async (context) => {
  const wire = await pair(context, 'efa', ['FI_MSG']);
  const broken = faults.add('status', { value: 8, count: 1 });
  expect(await wire.fails(wire.a.send(pattern(8), wire.toB))).toMatchObject({ provErrno: 8 });
  expect(broken.hits).toBe(1);
});

test('efa: the provider uses rdma-core if the device offers no direct data path', () => {
  const program = `
    import { open } from 'libfabric';
    import { SoftefaFaults } from 'libfabric/softefa';
    const faults = new SoftefaFaults();
    const before = faults.directRequests;
    const a = await open({ provider: 'efa', caps: ['FI_MSG'] });
    const b = await open({ provider: 'efa', caps: ['FI_MSG'] });
    const received = b.recv(new Uint8Array(8));
    await a.send(new Uint8Array(8), a.av.insert(b.address));
    await received;
    console.log(String(faults.directRequests - before));
    await a.close();
    await b.close();`;
  const other = { namespace: `${namespace}-other`, direct: false };
  const env = withSoftefa(other);
  const args = ['--input-type=module', '-e', program];
  expect(execFileSync(process.execPath, args, { env, encoding: 'utf8' })).toBe('0\n');
});
