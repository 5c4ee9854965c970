import { checkInteger, checkObject } from '../base/checks.js';
import { invalidArgType, invalidArgValue, outOfRange } from '../base/errors.js';

/** Pages of memory. All have the same size, and each is chosen by its index. */
export interface Pages {
  /** The index of each page, in the order of the transfer. */
  readonly indices: ArrayLike<number>;
  /** Bytes of a page. */
  readonly size: number;
}

/** Parts of memory: pairs of offset and length, in bytes. */
export type Pieces = Float64Array;

export const onePiece = (offset: number, length: number): Pieces => Float64Array.of(offset, length);

export function lengthOfPieces(pieces: Pieces): number {
  let sum = 0;
  for (let i = 1; i < pieces.length; i += 2) sum += pieces[i] as number;
  return sum;
}

/** The first byte and the end of all pieces. */
export function spanOf(pieces: Pieces): { start: number; end: number } {
  let start = Number.MAX_SAFE_INTEGER;
  let end = 0;
  for (let i = 0; i < pieces.length; i += 2) {
    const offset = pieces[i] as number;
    start = Math.min(start, offset);
    end = Math.max(end, offset + (pieces[i + 1] as number));
  }
  return { start, end };
}

/** The same pieces, with `distance` added to each offset. */
export function movedBy(pieces: Pieces, distance: number): Pieces {
  return pieces.map((value, i) => (i % 2 === 0 ? value + distance : value));
}

/** The bytes [start, end) of all pieces, in their order. */
export function slicePieces(pieces: Pieces, start: number, end: number): Pieces {
  const slice: number[] = [];
  let skip = start;
  let rest = end - start;
  for (let i = 0; rest > 0 && i < pieces.length; i += 2) {
    const size = pieces[i + 1] as number;
    if (skip < size) {
      const taken = Math.min(size - skip, rest);
      slice.push((pieces[i] as number) + skip, taken);
      rest -= taken;
    }
    skip = Math.max(skip - size, 0);
  }
  return Float64Array.from(slice);
}

/** The pieces of pages. Adjacent pages become one piece. */
export function piecesOfPages(name: string, pages: Pages, length: number): Pieces {
  const { indices, size } = checkObject(name, pages);
  checkInteger(`${name}.size`, size, 1, length);
  if (typeof indices !== 'object' || indices === null || !(indices.length >= 0)) {
    throw invalidArgType(`${name}.indices`, 'an array of page numbers', indices);
  }
  if (indices.length === 0) {
    throw invalidArgValue(`${name}.indices`, 'is empty: a transfer has at least one page');
  }
  const pageSize = size as number;
  const last = Math.floor(length / pageSize) - 1;
  const pieces: number[] = [];
  for (let i = 0; i < indices.length; i++) {
    const index = indices[i] as number;
    if (!(Number.isSafeInteger(index) && index >= 0 && index <= last)) {
      throw outOfRange(`${name}.indices[${i}]`, `an integer from 0 to ${last}`, index);
    }
    const offset = index * pageSize;
    const previous = pieces.length - 2;
    if (i > 0 && (pieces[previous] as number) + (pieces[previous + 1] as number) === offset) {
      pieces[previous + 1] = (pieces[previous + 1] as number) + pageSize;
    } else {
      pieces.push(offset, pageSize);
    }
  }
  return Float64Array.from(pieces);
}
