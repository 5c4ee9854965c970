// engine.pool(): registered memory that many uses get in turn.
import '../support/softefa.js';
import { setImmediate as turn } from 'node:timers/promises';
import { dumpState } from 'libfabric';
import {
  type MemoryLease,
  type MemoryPool,
  type MemoryPoolOptions,
  transferMetrics,
} from 'libfabric/transfer';
import { describe, expect, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { enginePair } from '../support/engines.js';

const SIZE = 64 * 1024;

/** Whether a promise has settled after everything that was ready has run. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  const set = () => {
    isSettled = true;
  };
  promise.then(set, set);
  for (let i = 0; i < 20; i++) await turn();
  return isSettled;
}

const providers = casesOf(['shm', 'tcp', 'efa'], (provider) => provider !== 'tcp');

describe.each(providers)('%s', (provider) => {
  const options = { provider, nics: 1 };

  test('bytes travel from a lease and into a lease', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    using from = await a.pool({ size: SIZE, count: 1 }).acquire(1000);
    using into = await b.pool({ size: SIZE, count: 1 }).acquire(1000);
    expect([from.length, into.bytes.length]).toEqual([1000, 1000]);
    from.bytes.set(pattern(1000));
    const offer = await into.offer({ access: 'write', to: toA });
    await toB.write(from, offer.token);
    await offer.arrived;
    expect(same(into.bytes, pattern(1000))).toBe(true);
    const readable = await into.slice(100, 200).offer({ access: 'read', to: toA });
    await toB.read(readable.token, from.slice(0, 100));
    expect(same(from.bytes.subarray(0, 100), pattern(1000).subarray(100, 200))).toBe(true);
  });

  test('while all buffers are in use, calls wait, and get them in their order', async () => {
    const { a } = await enginePair(options);
    const pool = a.pool({ size: SIZE, maxBytes: 2 * SIZE + 1 });
    expect([pool.size, pool.count]).toEqual([SIZE, 2]);
    const first = await pool.acquire();
    const second = await pool.acquire();
    expect(first.memory).not.toBe(second.memory);
    const order: string[] = [];
    const acquire = async (name: string, length: number) => {
      const lease = await pool.acquire(length);
      order.push(name);
      return lease;
    };
    const third = acquire('third', SIZE);
    const fourth = acquire('fourth', 10);
    expect(await settled(third)).toBe(false);
    expect(pool.stats()).toEqual({
      buffers: 2,
      byteLength: 2 * SIZE,
      leased: 2,
      waiting: 2,
      acquired: 2,
      waits: 2,
    });
    await second.release();
    expect((await third).memory).toBe(second.memory);
    await first.release();
    expect((await fourth).memory).toBe(first.memory);
    expect(order).toEqual(['third', 'fourth']);
    expect(pool.stats()).toMatchObject({ leased: 2, waiting: 0, acquired: 4 });
  });

  test('a buffer is given to nobody while a transfer or an offer uses it', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const size = 8 * 1024 * 1024;
    const pool = a.pool({ size, count: 1 });
    const target = await b.allocate(size);
    for (let i = 0; i < 5; i++) {
      const lease = await pool.acquire();
      lease.bytes.fill(i);
      const { token, arrived } = await target.offer({ access: 'write', to: toA });
      const writing = toB.write(lease, token);
      let isFree = false;
      writing.released.then(() => {
        isFree = true;
      });
      lease.release();
      (await pool.acquire()).release();
      expect(isFree).toBe(true);
      await arrived;
      await writing;
      expect(target.bytes.every((byte) => byte === i)).toBe(true);
    }
  });

  test('the offers of a lease end with it', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const pool = b.pool({ size: SIZE, count: 1 });
    const lease = await pool.acquire();
    const offer = await lease.offer({ access: 'write', to: toA });
    const waiting = pool.acquire();
    lease.release();
    await expect(offer.arrived).rejects.toMatchObject({ code: 'FI_ECANCELED' });
    const next = await waiting;
    expect(await settled(offer.released)).toBe(true);
    next.bytes.fill(7);
    const from = await a.allocate(SIZE);
    await expect(toB.write(from, offer.token)).rejects.toMatchObject({ code: 'FI_EKEYREJECTED' });
    expect(next.bytes.every((byte) => byte === 7)).toBe(true);
  });

  test('a lease and its slices are refused after its release', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const target = await b.allocate(SIZE);
    const { token } = await target.offer({ access: 'write', to: toA });
    const lease = await a.pool({ size: SIZE, count: 1 }).acquire();
    const slice = lease.slice(0, 10);
    expect(lease.closed).toBe(false);
    await lease.release();
    expect(lease.closed).toBe(true);
    for (const part of [lease, slice, slice.slice(0, 5)]) {
      const refused = expect.objectContaining({ code: 'ERR_CLOSED' });
      expect(() => toB.write(part, token)).toThrow(refused);
      expect(() => part.bytes).toThrow(refused);
      await expect(part.offer({ access: 'read', to: toB })).rejects.toEqual(refused);
    }
    await lease.release();
  });
});

describe('shm', () => {
  const pools = async (options: Partial<MemoryPoolOptions> = {}) => {
    const { a } = await enginePair({ provider: 'shm', nics: 1 });
    return { a, pool: a.pool({ size: SIZE, count: 1, ...options }) };
  };

  test('a call that ends before its turn takes no buffer', async () => {
    const { pool } = await pools();
    const lease = await pool.acquire();
    const controller = new AbortController();
    const aborted = pool.acquire(1, { signal: controller.signal });
    const late = pool.acquire(1, { timeout: 5 });
    const next = pool.acquire();
    controller.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    await expect(late).rejects.toMatchObject({ code: 'FI_ETIMEDOUT', syscall: 'pool.acquire' });
    expect(pool.stats()).toMatchObject({ waiting: 1 });
    await expect(pool.acquire(1, { signal: controller.signal })).rejects.toThrow('enough');
    await lease.release();
    await (await next).release();
    expect(pool.stats()).toMatchObject({ buffers: 1, leased: 0, waiting: 0 });
  });

  test('a buffer whose allocation ends after the call stays in the pool', async () => {
    const { pool } = await pools();
    const controller = new AbortController();
    const aborted = pool.acquire(SIZE, { signal: controller.signal });
    const next = pool.acquire();
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
    await (await next).release();
    expect(pool.stats()).toMatchObject({ buffers: 1, acquired: 1 });
  });

  test('calls that wait learn why no buffer can be allocated', async () => {
    const { pool } = await pools({ numaNode: 1000 });
    const results = await Promise.allSettled([pool.acquire(), pool.acquire(), pool.acquire()]);
    for (const result of results) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'FI_ENODEV' } });
    }
    expect(pool.stats()).toMatchObject({ buffers: 0, waiting: 0 });
  });

  test.each(['pool', 'engine'] as const)(
    'the end of the %s ends calls that wait',
    async (which) => {
      const { a, pool } = await pools();
      const lease = await pool.acquire();
      const waiting = pool.acquire();
      await (which === 'pool' ? pool : a).close();
      const text = which === 'pool' ? /the pool is closed/ : /the transfer engine is closed/;
      await expect(waiting).rejects.toMatchObject({
        code: 'ERR_CLOSED',
        message: expect.stringMatching(text),
      });
      await lease.released;
      expect([lease.closed, pool.closed]).toEqual([true, true]);
      await expect(pool.acquire()).rejects.toMatchObject({ code: 'ERR_CLOSED' });
      await pool.close();
    },
  );

  test('metrics and dumpState() have the figures of open pools, by name or number', async () => {
    const { a, pool } = await pools({ count: 2 });
    const named = a.pool({ size: 100, maxBytes: 1000, name: 'objects "x"' });
    expect([pool.name, named.name]).toEqual(['1', 'objects "x"']);
    expect(a.pool({ size: 100, count: 1 }).name).toBe('3');
    expect(() => a.pool({ size: 1, count: 1, name: 5 as never })).toThrow(/options.name/);
    const leases = [await pool.acquire(), await pool.acquire()];
    const waiting = pool.acquire();
    const figures = {
      ...{ name: '1', size: SIZE, count: 2 },
      ...{ buffers: 2, byteLength: 2 * SIZE, leased: 2, waiting: 1, acquired: 2, waits: 1 },
    };
    const dumped = () => dumpState().transferEngines.find(({ id }) => id === a.id)?.pools;
    expect(dumped()).toMatchObject([
      figures,
      { name: 'objects "x"', size: 100, count: 10, buffers: 0 },
      { name: '3' },
    ]);

    const metrics = async (name: string) => {
      const { text } = await transferMetrics();
      const labels = `{engine="${a.number}",pool="${name}"} `;
      const own = text.split('\n').filter((line) => line.includes(labels));
      return Object.fromEntries(own.map((line) => line.replace(labels, ' ').split(' ')));
    };
    const values = {
      libfabric_transfer_pool_buffers: '2',
      libfabric_transfer_pool_bytes: String(2 * SIZE),
      libfabric_transfer_pool_leased: '2',
      libfabric_transfer_pool_waiting: '1',
      libfabric_transfer_pool_acquired_total: '2',
      libfabric_transfer_pool_waits_total: '1',
    };
    expect(await metrics('1')).toEqual(values);
    const unused = Object.keys(values).map((name) => [name, '0']);
    expect(await metrics('objects \\"x\\"')).toEqual(Object.fromEntries(unused));

    leases[0]?.release();
    await (await waiting).release();
    expect(await metrics('1')).toMatchObject({
      libfabric_transfer_pool_leased: '1',
      libfabric_transfer_pool_waiting: '0',
      libfabric_transfer_pool_acquired_total: '3',
    });
    await pool.close();
    expect(dumped()).toMatchObject([{ name: 'objects "x"' }, { name: '3' }]);
    expect(await metrics('1')).toEqual({});
  });

  test('a pool that closes waits for buffers that are being allocated', async () => {
    const { pool } = await pools({ count: 4 });
    const calls = Array.from({ length: 4 }, () => pool.acquire());
    await pool.close();
    for (const result of await Promise.allSettled(calls)) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'ERR_CLOSED' } });
    }
    expect(pool.stats()).toMatchObject({ buffers: 0, leased: 0 });
  });

  test('many tasks share few buffers, and no two have the same', async () => {
    const { a, b, toA, toB } = await enginePair({ provider: 'shm', nics: 1 });
    const [from, into] = [a.pool({ size: 4096, count: 3 }), b.pool({ size: 4096, count: 3 })];
    const used = new Set<unknown>();
    const acquire = async (pool: MemoryPool): Promise<MemoryLease> => {
      const lease = await pool.acquire();
      expect(used.has(lease.memory)).toBe(false);
      used.add(lease.memory);
      return lease;
    };
    const release = (lease: MemoryLease) => {
      used.delete(lease.memory);
      lease.release();
    };
    const task = async (number: number) => {
      for (let i = 0; i < 20; i++) {
        const target = await acquire(into);
        const source = await acquire(from);
        source.bytes.fill(number);
        const offer = await target.offer({ access: 'write', to: toA });
        await toB.write(source, offer.token);
        await offer.arrived;
        expect(target.bytes.every((byte) => byte === number)).toBe(true);
        release(source);
        release(target);
      }
    };
    await Promise.all(Array.from({ length: 20 }, (_, i) => task(i)));
    expect(from.stats()).toMatchObject({ buffers: 3, acquired: 400, waiting: 0 });
  });

  test.each<[string, MemoryPoolOptions]>([
    ['ERR_INVALID_ARG_TYPE', { size: '1' as never, count: 1 }],
    ['ERR_OUT_OF_RANGE', { size: 0, count: 1 }],
    ['ERR_OUT_OF_RANGE', { size: 1, count: 0 }],
    ['ERR_OUT_OF_RANGE', { size: 10, maxBytes: 9 }],
    ['ERR_INVALID_ARG_VALUE', { size: 1 }],
    ['ERR_INVALID_ARG_VALUE', { size: 1, count: 1, maxBytes: 1 }],
    ['ERR_INVALID_ARG_VALUE', { size: 1, count: 1, colour: 'red' } as never],
    ['ERR_INVALID_ARG_TYPE', null as never],
  ])('%s: pool(%o)', async (code, given) => {
    const { a } = await pools();
    expect(() => a.pool(given)).toThrow(expect.objectContaining({ code }));
  });

  test.each<[string, unknown[]]>([
    ['ERR_OUT_OF_RANGE', [0]],
    ['ERR_OUT_OF_RANGE', [SIZE + 1]],
    ['ERR_INVALID_ARG_TYPE', ['1']],
    ['ERR_OUT_OF_RANGE', [1, { timeout: -1 }]],
    ['ERR_INVALID_ARG_TYPE', [1, { signal: {} }]],
  ])('%s: acquire(%o)', async (code, given) => {
    const { pool } = await pools();
    await expect(pool.acquire(...(given as [number]))).rejects.toMatchObject({ code });
    expect(pool.stats().buffers).toBe(0);
  });
});
