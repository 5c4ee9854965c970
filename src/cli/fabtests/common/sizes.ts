import { parseBytes } from '../../shared/byte-count.js';

/** The sizes that `-S` selects. */
export type SizeChoice =
  | { readonly kind: 'default' | 'all' }
  | { readonly kind: 'one'; readonly size: number }
  | { readonly kind: 'several'; readonly sizes: readonly number[] };

const DEFAULT = [64, 256, 1024, 4096, 65_536, 2 ** 20];

// 1, 2, 3, 4, 6, 8, 12, ... to 8 MiB: the powers of two and the values halfway between them.
const ALL = [
  1,
  ...Array.from({ length: 22 }, (_, i) => [2 ** (i + 1), 3 * 2 ** i]).flat(),
  2 ** 23,
];

/** The sizes of `all`. */
export const allSizes = (): readonly number[] => ALL;

const MOST = 2 ** 20; // sizes of a range

const number = (text: string): number => {
  const bytes = parseBytes(text);
  if (bytes === undefined) throw new RangeError(`'${text}' is not a number of bytes`);
  return bytes;
};

/**
 * Reads `-S`: `64`, `all`, `r:start,increment,end` or `l:1,2,3`. Units of 1024, as in `64M`, extend fabtests' syntax.
 */
export function parseSizes(text: string): SizeChoice {
  if (text.toLowerCase() === 'all') return { kind: 'all' };
  if (text.startsWith('l:')) {
    return { kind: 'several', sizes: text.slice(2).split(',').map(number) };
  }
  if (!text.startsWith('r:')) {
    if (text.includes(',')) throw new RangeError(`several sizes begin with l: l:${text}`);
    return { kind: 'one', size: number(text) };
  }
  const parts = text.slice(2).split(',').map(number);
  const [start = 0, increment = 0, end = 0] = parts;
  if (parts.length !== 3 || increment === 0 || end < start) {
    throw new RangeError('a range is r:start,increment,end with start <= end and increment > 0');
  }
  const count = Math.floor((end - start) / increment) + 1;
  if (count > MOST) throw new RangeError(`the range has ${count} sizes`);
  return {
    kind: 'several',
    sizes: Array.from({ length: count }, (_, i) => start + i * increment),
  };
}

/** The sizes to measure, up to the largest transfer that the provider carries. */
export function sizesOf(choice: SizeChoice, maxMsgSize: number): readonly number[] {
  return allSizesOf(choice).filter((size) => size <= maxMsgSize);
}

/** The sizes of a choice. */
export function allSizesOf(choice: SizeChoice): readonly number[] {
  if (choice.kind === 'one') return [choice.size];
  if (choice.kind === 'several') return choice.sizes;
  return choice.kind === 'all' ? ALL : DEFAULT;
}

/**
 * Bytes that a side allocates for a transfer: the one size, or the last size in fabtests' table.
 * That table always ends with 8 MiB, even if few of its sizes are used.
 */
export function roomOf(choice: SizeChoice, maxMsgSize: number): number {
  const room =
    choice.kind === 'one'
      ? choice.size
      : choice.kind === 'several'
        ? choice.sizes.reduce((most, size) => Math.max(most, size), 0)
        : 2 ** 23;
  return Math.min(room, maxMsgSize);
}

/** Iterations without `-I`: fewer for larger transfers, twice as many for bandwidth. */
export function iterationsOf(size: number, bandwidth: boolean): number {
  const base = size >= 2 ** 20 ? 100 : size >= 2 ** 16 ? 1000 : 10_000;
  return bandwidth ? base * 2 : base;
}
