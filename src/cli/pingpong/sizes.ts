import type { SizeChoice } from '../fabtests/common/sizes.js';

const DEFAULT = [64, 256, 1024, 4096, 65_536, 2 ** 20];
const LARGEST = 2 ** 22 + 2 ** 21;

/** Bytes that fi_pingpong makes room for. */
export function roomOf(choice: SizeChoice, maxMsgSize: number): number {
  return Math.min(choice.kind === 'one' ? choice.size : LARGEST, maxMsgSize);
}

/** The sizes that fi_pingpong measures: with `all` 0, 1, 2, 3, 4, 6, 8, 12, ... */
export function sizesOf(choice: SizeChoice, maxMsgSize: number): number[] {
  const room = roomOf(choice, maxMsgSize);
  if (choice.kind === 'one') return choice.size <= room ? [choice.size] : [];
  if (choice.kind !== 'all') return DEFAULT.filter((size) => size <= room);
  const sizes = [0, 1];
  for (let power = 2; power <= room; power *= 2) sizes.push(power, power * 1.5);
  return sizes.filter((size) => size <= room);
}
