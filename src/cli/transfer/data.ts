// The bytes of a transfer: their layout in memory, and their expected values.
import type { MemoryPart, TransferMemory } from '../../transfer/memory.js';
import { DataCheckError } from '../fabtests/common/pattern.js';
import type { Plan } from './plan.js';

const BLOCK = 2 ** 20; // bytes that are made and compared at a time

/** The memory of a transfer on one side: pages in their order, or one page of the whole size. */
export class Layout {
  readonly size: number;
  readonly #pages: Uint32Array;
  readonly #pageSize: number;
  readonly #isScattered: boolean;

  /** @param seed decides the order of scattered pages. */
  constructor(size: number, pageSize: number | undefined, seed: number) {
    this.size = size;
    this.#isScattered = pageSize !== undefined;
    this.#pageSize = pageSize ?? size;
    this.#pages = shuffled(size / this.#pageSize, seed);
  }

  /** The part of memory with this layout. */
  partOf(memory: TransferMemory): MemoryPart {
    if (!this.#isScattered) return memory.slice(0, this.size);
    return memory.pages({ indices: this.#pages, size: this.#pageSize });
  }

  /** The most slices into which a transfer between two such layouts may be cut. */
  get slices(): number | undefined {
    return this.#isScattered ? 2 * this.#pages.length + Math.ceil(this.size / 4096) : undefined;
  }

  /** Fills the memory with the bytes of a transfer. */
  fill(memory: Uint8Array, seed: number): void {
    for (const { at, expected } of this.#blocks(seed)) memory.set(expected, at);
  }

  /** Throws if a byte is not that of the transfer. */
  verify(memory: Uint8Array, seed: number): void {
    for (const { at, expected, position } of this.#blocks(seed)) {
      const got = memory.subarray(at, at + expected.length);
      if (Buffer.compare(got, expected) === 0) continue;
      const wrong = got.findIndex((byte, i) => byte !== expected[i]);
      throw new DataCheckError(
        `Data check error (${expected[wrong]}!=${got[wrong]}) at byte ${position + wrong} of ${this.size}`,
      );
    }
  }

  /** The expected bytes, by their place in memory and their position in the transfer. */
  *#blocks(seed: number) {
    const words = new Uint32Array(Math.min(BLOCK, this.#pageSize + 8) / 4 + 2);
    for (const [i, page] of this.#pages.entries()) {
      for (let done = 0; done < this.#pageSize; done += BLOCK) {
        const length = Math.min(BLOCK, this.#pageSize - done);
        const position = i * this.#pageSize + done;
        const expected = patternOf(words, seed, position, length);
        yield { at: page * this.#pageSize + done, position, expected };
      }
    }
  }
}

/** The bytes of a transfer. A word differs from those of all other positions and of other seeds. */
function patternOf(words: Uint32Array, seed: number, position: number, length: number): Uint8Array {
  const skipped = position % 4;
  const first = (position - skipped) / 4 + Math.imul(seed, 0x9e3779b9);
  const count = Math.ceil((skipped + length) / 4);
  for (let i = 0; i < count; i++) words[i] = Math.imul(first + i, 0x2c1b3c6d) ^ 0x297a2d39;
  return new Uint8Array(words.buffer, skipped, length);
}

/** The numbers from 0, in an order that the seed decides. */
export function shuffled(length: number, seed: number): Uint32Array {
  const numbers = Uint32Array.from({ length }, (_, i) => i);
  let state = seed;
  for (let i = length - 1; i > 0; i--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const j = Math.floor((state / 2 ** 32) * (i + 1));
    const other = numbers[j] as number;
    numbers[j] = numbers[i] as number;
    numbers[i] = other;
  }
  return numbers;
}

/** Fills memory with bytes, so that every page of it exists. */
export const fillOnce = (memory: Uint8Array): void =>
  new Layout(memory.length, undefined, 0).fill(memory, 0);

const SEEDS = { client: 1, server: 2 } as const;

/** The layout of a size at one side. */
export const layoutOf = ({ pages }: Plan, size: number, side: keyof typeof SEEDS) =>
  new Layout(size, pages, SEEDS[side]);
