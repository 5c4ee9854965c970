// The bytes of each operation: a part of one sequence, at a place that its number decides.
import { randomOf } from '../../ends/plan.mjs';

/** The longest operation. */
const LONGEST = 16 * 2 ** 20;
const SPREAD = 2 ** 20;

function sequence() {
  const next = randomOf('bytes of the simulation');
  const words = new Uint32Array((LONGEST + SPREAD) / 4);
  for (let i = 0; i < words.length; i++) words[i] = next() * 2 ** 32;
  return new Uint8Array(words.buffer);
}

export const ALL = sequence();

/** Where the bytes of an operation begin in ALL. */
export const startOf = (id) => (Math.imul(id + 1, 2654435761) >>> 0) % SPREAD;

export const bytesOf = (id, length) => ALL.subarray(startOf(id), startOf(id) + length);

const same = (a, b) => Buffer.compare(a, b) === 0;

/** Whether these are the bytes of the operation. */
export const isOf = (id, bytes) => same(bytes, bytesOf(id, bytes.length));

/** A message names its operation in its first 4 bytes, because receives do not choose what they get. */
export function messageOf(id, length) {
  const bytes = Uint8Array.from(bytesOf(id, length));
  new DataView(bytes.buffer).setUint32(0, id);
  return bytes;
}

/** The number of the operation that a message names, and whether the message is whole. */
export function readMessage(bytes) {
  const id = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  return { id, whole: same(bytes.subarray(4), bytesOf(id, bytes.length).subarray(4)) };
}
