import { invalidArgType, outOfRange } from '../base/errors.js';
import { isArray } from '../base/objects.js';
import type { Engine } from '../engine/engine.js';
import { blocksOfSegments, type Entries } from '../engine/entries.js';
import type { Buffers } from '../engine/memory.js';

/** A piece of a peer's region, by its handle in the engine. */
export interface RemotePiece {
  readonly handle: number;
  readonly offset: number;
  readonly length: number;
}

/** A list of buffers, located and ready to be written. */
export class Located {
  /** The buffers, which the operation must keep alive. */
  readonly buffers: Buffers[];
  readonly handles: number[] = [];
  readonly offsets: number[] = [];
  readonly lengths: number[] = [];
  /** The pieces of remote regions after the first. */
  remotes: readonly RemotePiece[] = [];
  total = 0;

  constructor(
    engine: Engine,
    buffers: readonly Buffers[],
    limit: number,
    { names, reason = 'iovLimit' }: { names?: readonly string[]; reason?: string } = {},
  ) {
    if (!isArray(buffers)) throw invalidArgType('buffers', 'an array of buffers', buffers);
    const { length } = buffers;
    if (length === 0 || length > limit) {
      throw outOfRange('buffers.length', `from 1 to ${limit} (${reason})`, length);
    }
    this.buffers = Array.from({ length }, (_, i) => buffers[i] as Buffers);
    const { memory } = engine;
    for (let i = 0; i < length; i++) {
      const name = names?.[i] ?? `buffers[${i}]`;
      const { handle, offset, length } = memory.locate(this.buffers[i] as Buffers, name);
      this.handles.push(handle);
      this.offsets.push(offset);
      this.lengths.push(length);
      this.total += length;
    }
  }

  /** The number of segments after the first. */
  get more(): number {
    return this.handles.length - 1;
  }

  /** The number of blocks that hold what follows the first segment. */
  get blocks(): number {
    return blocksOfSegments(this.more + this.remotes.length);
  }

  /** Sets the segments of an operation, and the pieces of remote regions after the first. */
  put(entries: Entries, at: number): void {
    const { handles, offsets, lengths, remotes, more } = this;
    entries.setMemory(at, handles[0] as number, offsets[0] as number, lengths[0] as number);
    entries.setSegments(at, more, remotes.length);
    for (let i = 1; i <= more; i++) {
      const [offset, length] = [offsets[i] as number, lengths[i] as number];
      entries.setSegment(at, i - 1, handles[i] as number, offset, length);
    }
    remotes.forEach(({ handle, offset, length }, i) => {
      entries.setSegment(at, more + i, handle, offset, length);
    });
  }
}
