import type { AtomicOp, Datatype } from 'libfabric';
import { describe, expect, type TestContext, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { until } from '../support/lifecycle.js';
import { common } from '../support/providers.js';
import { fabricError, pair } from '../support/transfer.js';

// net offers FI_ATOMIC and refuses every operation. rxd of 1.17 crashes on fetching atomics.
const setups = [
  ['shm', 'thread'],
  ['shm', 'loop'],
  ['shm', 'manual'],
  ['tcp;ofi_rxm', 'thread'],
  ['tcp;ofi_rxm', 'manual'],
  ['sockets', 'loop'],
  ['udp;ofi_rxd', 'loop'],
] as const;

type Numbers =
  | BigUint64Array
  | Int32Array
  | Uint8Array
  | Float64Array
  | Float32Array
  | BigInt64Array;
interface Case {
  readonly datatype: Datatype;
  readonly op: AtomicOp;
  readonly before: Numbers;
  readonly operand: Numbers;
  readonly after: Numbers;
}

const cases: Case[] = [
  {
    datatype: 'FI_UINT64',
    op: 'FI_SUM',
    before: BigUint64Array.of(2n ** 63n, 5n),
    operand: BigUint64Array.of(7n, 2n ** 64n - 1n),
    after: BigUint64Array.of(2n ** 63n + 7n, 4n),
  },
  {
    datatype: 'FI_INT32',
    op: 'FI_MIN',
    before: Int32Array.of(-5, 5, 0),
    operand: Int32Array.of(-6, -1, 1),
    after: Int32Array.of(-6, -1, 0),
  },
  {
    datatype: 'FI_INT32',
    op: 'FI_MAX',
    before: Int32Array.of(-5, 5, 0),
    operand: Int32Array.of(-6, -1, 1),
    after: Int32Array.of(-5, 5, 1),
  },
  {
    datatype: 'FI_UINT8',
    op: 'FI_BOR',
    before: Uint8Array.of(1, 2, 4),
    operand: Uint8Array.of(8, 2, 0),
    after: Uint8Array.of(9, 2, 4),
  },
  {
    datatype: 'FI_UINT8',
    op: 'FI_BAND',
    before: Uint8Array.of(7, 2, 4),
    operand: Uint8Array.of(3, 2, 0),
    after: Uint8Array.of(3, 2, 0),
  },
  {
    datatype: 'FI_UINT8',
    op: 'FI_BXOR',
    before: Uint8Array.of(7, 2, 4),
    operand: Uint8Array.of(3, 2, 0),
    after: Uint8Array.of(4, 0, 4),
  },
  {
    datatype: 'FI_INT64',
    op: 'FI_ATOMIC_WRITE',
    before: BigInt64Array.of(1n),
    operand: BigInt64Array.of(-(2n ** 63n)),
    after: BigInt64Array.of(-(2n ** 63n)),
  },
  {
    datatype: 'FI_DOUBLE',
    op: 'FI_SUM',
    before: Float64Array.of(0.5, 1e300),
    operand: Float64Array.of(0.25, 1),
    after: Float64Array.of(0.75, 1e300),
  },
  {
    datatype: 'FI_FLOAT',
    op: 'FI_PROD',
    before: Float32Array.of(3, -2),
    operand: Float32Array.of(2, 0.5),
    after: Float32Array.of(6, -1),
  },
];

const bytesOf = (numbers: Numbers) =>
  new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);

describe.each(setups)('%s, %s driver', (provider, driver) => {
  async function cell(context: Parameters<typeof pair>[0]) {
    const wire = await pair(context, provider, ['FI_MSG', 'FI_RMA', 'FI_ATOMIC'], driver);
    const region = await wire.b.domain.allocate(4096, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
    const remote = wire.a.domain.remote(region.descriptor());
    return { ...wire, done: wire.done.bind(wire), region, remote };
  }
  // An atomic may complete at its sender before it is executed. A later read shows its effect.
  async function value(
    setup: Awaited<ReturnType<typeof cell>>,
    length: number,
    expected: Uint8Array,
  ) {
    const target = new Uint8Array(length);
    for (let i = 0; i < 1000; i++) {
      await setup.done(setup.a.read(target, setup.toB, setup.remote, { offset: 64 }));
      if (Buffer.compare(target, expected) === 0) break;
    }
    return [...target];
  }
  const unsafe =
    provider === 'udp;ofi_rxd' ? 'the provider crashes on fetching atomics' : undefined;

  test.for(cases)(
    'atomic $op of $datatype',
    async ({ datatype, op, before, operand, after }, context) => {
      const setup = await cell(context);
      if (setup.a.atomicValid('atomic', datatype, op) === 0)
        context.skip('not offered by the provider');
      setup.region.bytes.set(bytesOf(before), 64);
      await setup.done(
        setup.a.atomic(operand, setup.toB, setup.remote, { datatype, op, offset: 64 }),
      );
      expect(await value(setup, after.byteLength, bytesOf(after))).toEqual([...bytesOf(after)]);
      expect(new Set(setup.region.bytes.subarray(64 + after.byteLength))).toEqual(new Set([0]));
    },
  );

  test.for(cases)(
    'fetchAtomic $op of $datatype returns the previous value',
    async (one, context) => {
      if (unsafe) context.skip(unsafe);
      const { datatype, op, before, operand, after } = one;
      const setup = await cell(context);
      if (setup.a.atomicValid('fetch', datatype, op) === 0)
        context.skip('not offered by the provider');
      setup.region.bytes.set(bytesOf(before), 64);
      const result = new Uint8Array(before.byteLength);
      const options = { datatype, op, offset: 64 };
      await setup.done(setup.a.fetchAtomic(operand, result, setup.toB, setup.remote, options));
      expect([...result]).toEqual([...bytesOf(before)]);
      expect(await value(setup, after.byteLength, bytesOf(after))).toEqual([...bytesOf(after)]);
    },
  );

  test('FI_ATOMIC_READ returns the value and does not change it', async (context) => {
    if (unsafe) context.skip(unsafe);
    const setup = await cell(context);
    const { a, toB, remote, region, done } = setup;
    region.bytes.set(bytesOf(BigUint64Array.of(123n)), 64);
    const result = new BigUint64Array(1);
    const options = { datatype: 'FI_UINT64', op: 'FI_ATOMIC_READ', offset: 64 } as const;
    await done(a.fetchAtomic(new BigUint64Array(1), result, toB, remote, options));
    expect(result[0]).toBe(123n);
    expect(new BigUint64Array(region.buffer, 64, 1)[0]).toBe(123n);
  });

  test('compareAtomic swaps only elements that are equal', async (context) => {
    if (unsafe) context.skip(unsafe);
    const setup = await cell(context);
    const { a, toB, remote, region, done } = setup;
    const options = { datatype: 'FI_UINT64', op: 'FI_CSWAP', offset: 64 } as const;
    region.bytes.set(bytesOf(BigUint64Array.of(5n, 6n)), 64);
    const result = new BigUint64Array(2);
    await done(
      a.compareAtomic(
        BigUint64Array.of(50n, 60n),
        BigUint64Array.of(5n, 7n),
        result,
        toB,
        remote,
        options,
      ),
    );
    expect([...result]).toEqual([5n, 6n]);
    const after = bytesOf(BigUint64Array.of(50n, 6n));
    expect(await value(setup, 16, after)).toEqual([...after]);
  });

  test('1000 increments in flight add up', async (context) => {
    const setup = await cell(context);
    const { a, toB, remote, done } = setup;
    const options = { datatype: 'FI_UINT64', op: 'FI_SUM', offset: 64 } as const;
    const one = BigUint64Array.of(1n);
    await done(
      Promise.all(Array.from({ length: 1000 }, () => a.atomic(one, toB, remote, options))),
    );
    const after = bytesOf(BigUint64Array.of(1000n));
    expect(await value(setup, 8, after)).toEqual([...after]);
  });

  test('an unsupported operation fails with FI_EOPNOTSUPP', async (context) => {
    const { a, toB, remote, done } = await cell(context);
    expect(a.atomicValid('atomic', 'FI_DOUBLE', 'FI_BOR')).toBe(0);
    const options = { datatype: 'FI_DOUBLE', op: 'FI_BOR' } as const;
    const refused = done(a.atomic(new Float64Array(1), toB, remote, options));
    await expect(refused).rejects.toEqual(fabricError('FI_EOPNOTSUPP'));
  });

  test('too many elements, partial elements and unequal lengths are refused', async (context) => {
    const { a, toB, remote } = await cell(context);
    const options = { datatype: 'FI_UINT64', op: 'FI_SUM' } as const;
    const most = a.atomicValid('fetch', 'FI_UINT64', 'FI_SUM');
    expect(most).toBeGreaterThan(0);
    const bytes = (length: number) => new Uint8Array(length);
    const refusals = [
      a.atomic(bytes(12), toB, remote, options),
      a.atomic(bytes(0), toB, remote, options),
      a.fetchAtomic(bytes(8), bytes(16), toB, remote, options),
      a.fetchAtomic(bytes((most + 1) * 8), bytes((most + 1) * 8), toB, remote, options),
      a.compareAtomic(bytes(8), bytes(16), bytes(8), toB, remote, { ...options, op: 'FI_CSWAP' }),
    ];
    for (const outcome of await Promise.allSettled(refusals)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: /^ERR_/ } });
    }
  });
});

describe.each(common)('%s', (provider) => {
  const CAPS = ['FI_MSG', 'FI_RMA', 'FI_ATOMIC'] as const;
  async function wired(context: TestContext) {
    const wire = await pair(context, provider, CAPS);
    const region = await wire.b.domain.allocate(2 ** 16, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
    region.bytes.set(pattern(region.length));
    return { ...wire, region, remote: wire.a.domain.remote(region.descriptor()) };
  }

  test('as many elements as atomicValid() reports are exchanged, whole', async (context) => {
    const { a, toB, region, remote } = await wired(context);
    const sizes = (kind: 'atomic' | 'fetch' | 'compare', op: AtomicOp) => {
      const most = a.atomicValid(kind, 'FI_UINT8', op);
      return most === 0 ? [] : [most];
    };
    const datatype = 'FI_UINT8';
    const op = 'FI_ATOMIC_WRITE';
    for (const size of sizes('fetch', op)) {
      const [before, result] = [region.bytes.slice(0, size), new Uint8Array(size)];
      await a.fetchAtomic(pattern(size, 2), result, toB, remote, { datatype, op });
      expectBytes(result, before);
      expectBytes(region.bytes.slice(0, size), pattern(size, 2));
    }
    for (const size of sizes('compare', 'FI_CSWAP')) {
      const [before, result] = [region.bytes.slice(0, size), new Uint8Array(size)];
      const options = { datatype, op: 'FI_CSWAP' } as const;
      await a.compareAtomic(pattern(size, 3), before, result, toB, remote, options);
      expectBytes(result, before);
      expectBytes(region.bytes.slice(0, size), pattern(size, 3));
    }
    for (const size of sizes('atomic', op)) {
      const operand = pattern(size, 4);
      await a.atomic(operand, toB, remote, { datatype, op });
      await until(() => Buffer.compare(region.bytes.subarray(0, size), operand) === 0);
      expectBytes(region.bytes.slice(size), pattern(region.length).slice(size));
    }
  });

  test('atomics with FI_INJECT complete, and are refused beyond injectSize', async (context) => {
    const { a, toB, remote } = await wired(context);
    const options = { datatype: 'FI_UINT64', op: 'FI_SUM', flags: ['FI_INJECT'] } as const;
    const one = new Uint8Array(8);
    await a.atomic(one, toB, remote, options);
    await a.fetchAtomic(one, new Uint8Array(8), toB, remote, options);
    const more = (Math.floor(a.info.txAttr.injectSize / 8) + 1) * 8;
    if (more / 8 > a.atomicValid('atomic', 'FI_UINT64', 'FI_SUM')) return;
    await expect(a.atomic(new Uint8Array(more), toB, remote, options)).rejects.toThrow(RangeError);
  });
});

test('net offers FI_ATOMIC and supports no operation', async (context) => {
  const { a } = await pair(context, 'net', ['FI_MSG', 'FI_RMA', 'FI_ATOMIC']);
  expect(a.atomicValid('atomic', 'FI_UINT64', 'FI_SUM')).toBe(0);
});
