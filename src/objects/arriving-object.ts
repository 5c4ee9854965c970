// The bytes of an object whose server sends them all in one answer, as other servers of S3 do.
import { noSuchRange, otherLength, type Part } from './answers.js';
import { type ChecksumAlgorithm, checkSame } from './checksums.js';
import type { OpenAnswer } from './exchange.js';
import { RunningChecksum } from './running-checksum.js';

/** What is compared when all bytes have arrived. */
interface Compared {
  readonly key: string;
  readonly checksum?: ChecksumAlgorithm | undefined;
  readonly expected?: string | undefined;
}

/** The bytes of a part, as they arrive. */
export async function* bytesIn(
  { body }: OpenAnswer,
  { start, end = Number.POSITIVE_INFINITY, size, isCut }: Part,
  { key, checksum, expected }: Compared,
): AsyncGenerator<Uint8Array, undefined> {
  const sum = checksum && new RunningChecksum(checksum);
  let at = isCut ? 0 : start;
  for await (const piece of body.pieces()) {
    const from = Math.max(start - at, 0);
    const to = Math.min(end - at, piece.length);
    at += piece.length;
    if (at > end && !isCut) throw otherLength(key);
    const isWhole = from === 0 && to === piece.length;
    const wanted = isWhole ? piece : Uint8Array.prototype.slice.call(piece, from, to);
    await sum?.add(wanted);
    if (wanted.length > 0) yield wanted;
    if (isCut && at >= end) return undefined;
  }
  if (isCut && at <= start) throw noSuchRange(at, key);
  const isKnown = Number.isFinite(end) && (!isCut || size !== undefined);
  if (isKnown && at < end) throw otherLength(key);
  if (sum && checksum && expected !== undefined) checkSame(checksum, expected, sum.text, key);
  return undefined;
}
