// The expected results of atomic operations: fi_atomic(3), implemented in JavaScript.

import type { AtomicOp, Datatype } from '../../../../base/flags.js';
import type { AtomicKind } from '../../../../endpoint/atomic.js';

type Value = number | bigint;

/** An element type, and how JavaScript handles it. */
export interface AtomicType {
  readonly datatype: Datatype;
  /** Bytes. */
  readonly size: number;
  /** Undefined if JavaScript has no such numbers. */
  readonly numbers?: {
    read(view: DataView): Value;
    write(view: DataView, value: Value): void;
    /** Truncates or rounds a value to the type. */
    cut(value: Value): Value;
  };
  /** The bytes of 48 (48 + 48i) if JavaScript has no such numbers. */
  readonly fortyEight?: Uint8Array;
}

type Get = 'getFloat32' | 'getFloat64';
type Set = 'setFloat32' | 'setFloat64';

function integer(bits: 8 | 16 | 32 | 64 | 128, signed: boolean): AtomicType {
  const cut = (value: Value) => (signed ? BigInt.asIntN : BigInt.asUintN)(bits, BigInt(value));
  const size = bits / 8;
  return {
    datatype: `FI_${signed ? '' : 'U'}INT${bits}`,
    size,
    numbers: {
      read: (view) => {
        let value = 0n;
        for (let i = size - 1; i >= 0; i--) value = value * 256n + BigInt(view.getUint8(i));
        return cut(value);
      },
      write: (view, value) => {
        for (let i = 0; i < size; i++)
          view.setUint8(i, Number((BigInt(value) >> BigInt(8 * i)) & 255n));
      },
      cut,
    },
  };
}

function float(datatype: Datatype, get: Get, set: Set, cut: (value: number) => number): AtomicType {
  return {
    datatype,
    size: Number(get.slice(-2)) / 8,
    numbers: {
      read: (view) => view[get](0, true),
      write: (view, value) => view[set](0, Number(value), true),
      cut: (value) => cut(Number(value)),
    },
  };
}

// 1.5 * 2^5 in 16 bytes: in the format of x86, and in that of IEEE 754.
const LONG_DOUBLE_48 = new Uint8Array(16);
if (process.arch === 'x64') LONG_DOUBLE_48.set([0xc0, 0x04, 0x40], 7);
else LONG_DOUBLE_48.set([0x80, 0x04, 0x40], 13);

const bytesOf = ({ buffer }: Float32Array | Float64Array) => new Uint8Array(buffer);

/** In the order of fabtests. */
export const TYPES: readonly AtomicType[] = [
  ...([8, 16, 32, 64] as const).flatMap((bits) => [integer(bits, true), integer(bits, false)]),
  float('FI_FLOAT', 'getFloat32', 'setFloat32', Math.fround),
  float('FI_DOUBLE', 'getFloat64', 'setFloat64', Number),
  { datatype: 'FI_FLOAT_COMPLEX', size: 8, fortyEight: bytesOf(Float32Array.of(48, 48)) },
  { datatype: 'FI_DOUBLE_COMPLEX', size: 16, fortyEight: bytesOf(Float64Array.of(48, 48)) },
  { datatype: 'FI_LONG_DOUBLE', size: 16, fortyEight: LONG_DOUBLE_48 },
  {
    datatype: 'FI_LONG_DOUBLE_COMPLEX',
    size: 32,
    fortyEight: Buffer.concat([LONG_DOUBLE_48, LONG_DOUBLE_48]),
  },
  integer(128, true),
  integer(128, false),
];

/** An operation: its name in `-o`, and its result in the target. */
export interface AtomicOperation {
  readonly name: string;
  readonly op: AtomicOp;
  /** The call that posts it. */
  readonly kind: AtomicKind;
  readonly result: (target: Value, operand: Value, compare: Value) => Value;
}

const truth = (value: Value) => Boolean(value);
const bits = (f: (a: bigint, b: bigint) => bigint) => (a: Value, b: Value) =>
  f(BigInt(a), BigInt(b));
// Two values of one type: both bigint, or both number.
const sum = (a: Value, b: Value) => (typeof a === 'bigint' ? a + BigInt(b) : a + Number(b));
const product = (a: Value, b: Value) => (typeof a === 'bigint' ? a * BigInt(b) : a * Number(b));

const pick = (a: Value, b: Value, first: boolean) => (first ? a : b);

type Swaps = (compare: Value, target: Value) => boolean;
const swap = (suffix: string, swaps: Swaps): AtomicOperation => ({
  name: `cswap${suffix.toLowerCase()}`,
  op: `FI_CSWAP${suffix}` as AtomicOp,
  kind: 'compare',
  result: (target, operand, compare) => (swaps(compare, target) ? operand : target),
});
const base = (name: string, result: AtomicOperation['result']): AtomicOperation => ({
  name,
  op: `FI_${name.toUpperCase()}` as AtomicOp,
  kind: 'atomic',
  result,
});

/** In the order of fabtests. */
export const OPERATIONS: readonly AtomicOperation[] = [
  base('min', (target, operand) => pick(target, operand, target < operand)),
  base('max', (target, operand) => pick(target, operand, target > operand)),
  base('sum', sum),
  base('prod', product),
  base('lor', (target, operand) => Number(truth(target) || truth(operand))),
  base('land', (target, operand) => Number(truth(target) && truth(operand))),
  base(
    'bor',
    bits((a, b) => a | b),
  ),
  base(
    'band',
    bits((a, b) => a & b),
  ),
  base('lxor', (target, operand) => Number(truth(target) !== truth(operand))),
  base(
    'bxor',
    bits((a, b) => a ^ b),
  ),
  { name: 'read', op: 'FI_ATOMIC_READ', kind: 'fetch', result: (target) => target },
  { name: 'write', op: 'FI_ATOMIC_WRITE', kind: 'atomic', result: (_, operand) => operand },
  swap('', (compare, target) => compare === target),
  swap('_NE', (compare, target) => compare !== target),
  swap('_LE', (compare, target) => compare <= target),
  swap('_LT', (compare, target) => compare < target),
  swap('_GE', (compare, target) => compare >= target),
  swap('_GT', (compare, target) => compare > target),
  {
    name: 'mswap',
    op: 'FI_MSWAP',
    kind: 'compare',
    result: (target, operand, mask) =>
      bits((a, b) => (b & BigInt(mask)) | (a & ~BigInt(mask)))(target, operand),
  },
];

/** The elements before the first operation. */
export interface Start {
  readonly target: number;
  readonly operand: number;
  readonly compare: number;
}

/** Between sides of this package: nearly every operation gives a different result. */
export const START: Start = { target: 5, operand: 3, compare: 5 };

/** With fabtests, since 2.0: the first letter of their pattern. */
export const FABTESTS_START: Start = { target: 48, operand: 48, compare: 48 };

/** The target after repeated operations, and the value that the last operation fetches. */
export function outcomeOf(
  operation: AtomicOperation,
  type: AtomicType,
  start: Start,
  iterations: number,
) {
  const { numbers } = type;
  if (numbers === undefined) return undefined;
  const operand = numbers.cut(start.operand);
  const compare = numbers.cut(start.compare);
  let target = numbers.cut(start.target);
  let fetched = target;
  for (let i = 0; i < iterations; i++) {
    fetched = target;
    target = numbers.cut(operation.result(target, operand, compare));
  }
  return { target, fetched };
}
