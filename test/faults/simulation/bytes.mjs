// The bytes of each operation are a part of one sequence, at an offset that depends on its number.
import { randomOf } from '../../ends/plan.mjs';

/** Bytes after which the sequence repeats. No multiple of it is a multiple of a page or a slice. */
const PERIOD = 17 * 2 ** 20 - 20;
const SPREAD = 2 ** 20;

function period() {
  const next = randomOf('bytes of the simulation');
  const words = new Uint32Array(PERIOD / 4);
  for (let i = 0; i < words.length; i++) words[i] = next() * 2 ** 32;
  return new Uint8Array(words.buffer);
}

let sequence = period();

/** The beginning of the sequence, enough for operations of the given length. */
export function sequenceFor(length) {
  const needed = length + SPREAD;
  if (needed > sequence.length) {
    const longer = new Uint8Array(needed);
    for (let at = 0; at < needed; at += PERIOD) {
      longer.set(sequence.subarray(0, Math.min(PERIOD, needed - at)), at);
    }
    sequence = longer;
  }
  return sequence;
}

/** The offset of the bytes of an operation in the sequence. */
export const startOf = (id) => (Math.imul(id + 1, 2654435761) >>> 0) % SPREAD;

export const bytesOf = (id, length) =>
  sequenceFor(length).subarray(startOf(id), startOf(id) + length);

export const same = (a, b) => Buffer.compare(a, b) === 0;

/** Whether these are the bytes of the operation. */
export const isOf = (id, bytes) => same(bytes, bytesOf(id, bytes.length));

/** A message names its operation in its first 4 bytes, because any receive may get any message. */
export function messageOf(id, length) {
  const bytes = Uint8Array.from(bytesOf(id, length));
  new DataView(bytes.buffer).setUint32(0, id);
  return bytes;
}

/** The number of the operation that a message names, and whether the message is complete. */
export function readMessage(bytes) {
  const id = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  return { id, whole: same(bytes.subarray(4), bytesOf(id, bytes.length).subarray(4)) };
}
