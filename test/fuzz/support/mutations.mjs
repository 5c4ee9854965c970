// Inputs of the fuzzers in JavaScript: changes of inputs that are known, drawn from a seed.

const MAX_INPUT = 4096; // bytes
const MAX_STRETCHED = 64 * 1024; // bytes
// One of so many inputs is long and repeats itself: it finds what takes quadratic time.
const STRETCHED = 4096;

/** Numbers from a seed: xorshift. */
export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0 || 1;
  }

  /** An integer from 0 to below `end`. */
  below(end) {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x >>> 0;
    return this.#state % end;
  }

  of(list) {
    return list[this.below(list.length)];
  }
}

/** The bytes [from, to) replaced. */
const replaced = (bytes, from, to, by) =>
  Buffer.concat([bytes.subarray(0, from), by, bytes.subarray(to)]);

function sliceOf(random, bytes) {
  const from = random.below(bytes.length + 1);
  return [from, Math.min(bytes.length, from + 1 + random.below(32))];
}

const NUMBERS = [
  ...['0', '-1', '00', '1e9', '2147483648', '4294967295', '9007199254740993', 'ffffffffffff'],
  ...['9'.repeat(400), 'NaN', '', ' '],
].map((text) => Buffer.from(text));

const CHANGES = [
  (random, bytes) => {
    const changed = Buffer.from(bytes);
    if (changed.length > 0) changed[random.below(changed.length)] = random.below(256);
    return changed;
  },
  (random, bytes) => {
    const at = random.below(bytes.length + 1);
    return replaced(bytes, at, at, Buffer.of(random.below(256)));
  },
  (random, bytes) => replaced(bytes, ...sliceOf(random, bytes), Buffer.alloc(0)),
  (random, bytes) => {
    const [from, to] = sliceOf(random, bytes);
    return replaced(bytes, to, to, bytes.subarray(from, to));
  },
  (random, bytes) => {
    const digits = [...bytes.toString('latin1').matchAll(/\d+/g)];
    if (digits.length === 0) return bytes;
    const found = random.of(digits);
    return replaced(bytes, found.index, found.index + found[0].length, random.of(NUMBERS));
  },
  (random, bytes, { words }) => {
    const [from, to] = sliceOf(random, bytes);
    return replaced(bytes, from, random.below(2) ? from : to, random.of(words));
  },
  (random, bytes, { corpus }) => {
    const other = random.of(corpus);
    const [from, to] = sliceOf(random, bytes);
    const [start] = sliceOf(random, other);
    return replaced(bytes, from, to, other.subarray(start, start + 1 + random.below(256)));
  },
];

function stretched(random, bytes) {
  const [from, to] = sliceOf(random, bytes);
  const unit = random.below(2) ? bytes.subarray(from, to) : bytes.subarray(from, from + 1);
  if (unit.length === 0) return bytes;
  const length = 1024 << random.below(7);
  return replaced(bytes, to, to, Buffer.alloc(Math.min(length, MAX_STRETCHED), unit));
}

/**
 * An input.
 *
 * @param known `corpus`, the inputs to change, and `words`, bytes to insert.
 */
export function mutated(random, known) {
  let bytes = random.of(known.corpus);
  for (let count = 1 + random.below(4); count > 0; count--)
    bytes = random.of(CHANGES)(random, bytes, known);
  bytes = bytes.subarray(0, MAX_INPUT);
  return random.below(STRETCHED) === 0 ? stretched(random, bytes) : bytes;
}
