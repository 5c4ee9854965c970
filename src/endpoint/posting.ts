// Writes an operation to its target: the engine's ring or a batch. As in target.ts, the code that
// runs for every operation is kept small, so that V8 inlines it.

import { invalidArgType, invalidArgValue, outOfRange } from '../base/errors.js';
import { lengthOf } from '../base/views.js';
import {
  ENTRY_BYTES,
  ENTRY_F64,
  type Op,
  OpField,
  SEGMENTS_PER_BLOCK,
} from '../contract/layout.js';
import type { Engine } from '../engine/engine.js';
import type { Entries } from '../engine/entries.js';
import type { Buffers, Place } from '../engine/memory.js';
import { Kind } from '../engine/requests.js';
import type { CheckedOptions, Target } from './target.js';

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
    if (!Array.isArray(buffers)) throw invalidArgType('buffers', 'an array of buffers', buffers);
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

  get blocks(): number {
    return Math.ceil((this.more + this.remotes.length) / SEGMENTS_PER_BLOCK);
  }

  put(entries: Entries, at: number): void {
    for (let i = 1; i < this.handles.length; i++) {
      entries.putSegment(
        at,
        i - 1,
        this.handles[i] as number,
        this.offsets[i] as number,
        this.lengths[i] as number,
      );
    }
    this.remotes.forEach(({ handle, offset, length }, i) => {
      entries.putSegment(at, this.more + i, handle, offset, length);
    });
  }
}

/**
 * Locates a buffer to send. A batch sends the content at the time of submission; other sends use
 * the content at the time of the call.
 */
export function locateToSend({ limits, sink }: Target, buffer: Buffers): Place {
  const { memory, submissions } = limits.engine;
  return memory.locate(buffer, 'buffer', sink === submissions);
}

/** Writes the flags of an operation into its entry. */
export function putFlags(
  entries: Entries,
  at: number,
  options: CheckedOptions | undefined,
  also: number,
): void {
  const bits = options === undefined ? 0 : options.flags;
  if (bits === 0) {
    if (also !== 0) entries.set64(at, OpField.Flags64, also);
  } else {
    entries.set64(at, OpField.Flags64, also === 0 ? bits : BigInt(bits) | BigInt(also));
  }
}

/**
 * Writes an operation with one buffer, and copies small payloads inline. `wide` and `data` are its
 * two 64-bit fields: the tag or remote offset, and the remote CQ data or ignore mask.
 */
export function postOne(
  target: Target,
  code: Op,
  kind: Kind,
  owner: unknown,
  place: Place,
  peer: number,
  remote: number,
  wide: number | bigint,
  wideIsOffset: boolean,
  data: number | bigint,
  flags: number,
  options: CheckedOptions | undefined,
): unknown {
  const { limits, sink } = target;
  const { handle, offset, length, carried } = place;
  const request = target.begin(kind, owner, options);
  const carries = handle === 0 && length > 0;
  if (carries) checkPayload(target, request, carried as Uint8Array, length);
  const blocks = carries ? Math.ceil(length / ENTRY_BYTES) : 0;
  const at = sink.reserve(blocks);
  const { entries } = sink;
  if (carries) entries.putPayload(at, carried as Uint8Array, length);
  entries.put(at, code, blocks, 0, request, limits.handle, peer, handle, remote, offset, length);
  if (wide !== 0) putWide(entries, at, wide, wideIsOffset);
  if (flags !== 0 || data !== 0 || options !== undefined) {
    putExtras(entries, at, data, flags, options);
  }
  sink.commit();
  return target.finish(kind, request, options);
}

// begin() reads the options, whose accessors may have detached the buffer.
function checkPayload(target: Target, request: number, bytes: Uint8Array, length: number): void {
  if (lengthOf(bytes) >= length) return;
  target.withdraw(request);
  throw invalidArgValue('buffer', 'is detached');
}

function putWide(entries: Entries, at: number, wide: number | bigint, isOffset: boolean): void {
  if (isOffset) entries.f64[at * ENTRY_F64 + OpField.Tag64] = wide as number;
  else entries.set64(at, OpField.Tag64, wide);
}

function putExtras(
  entries: Entries,
  at: number,
  data: number | bigint,
  flags: number,
  options: CheckedOptions | undefined,
): void {
  entries.set64(at, OpField.Data64, data);
  putFlags(entries, at, options, flags);
}

/** Writes an operation with several buffers. */
export function postMany(
  target: Target,
  code: Op,
  kind: Kind,
  owner: unknown,
  located: Located,
  peer: number,
  remote: number,
  wide: number | bigint,
  wideIsOffset: boolean,
  data: number | bigint,
  flags: number,
  options: CheckedOptions | undefined,
): unknown {
  const { limits, sink } = target;
  const request = target.begin(kind, owner, options);
  const at = sink.reserve(located.blocks);
  const { entries } = sink;
  entries.put(
    at,
    code,
    located.blocks,
    located.more | (located.remotes.length << 8),
    request,
    limits.handle,
    peer,
    located.handles[0] as number,
    remote,
    located.offsets[0] as number,
    located.lengths[0] as number,
  );
  located.put(entries, at);
  if (wide !== 0) putWide(entries, at, wide, wideIsOffset);
  putExtras(entries, at, data, flags, options);
  sink.commit();
  return target.finish(kind, request, options);
}

/**
 * Writes an inject. Its payload is copied into the ring, so the caller may reuse the buffer at
 * once.
 */
export function postInject(
  target: Target,
  code: Op,
  bytes: Uint8Array,
  peer: number,
  remote: number,
  wide: number | bigint,
  wideIsOffset: boolean,
  data: number | bigint,
  flags: number,
  options?: CheckedOptions,
): unknown {
  const { limits, sink } = target;
  const length = lengthOf(bytes);
  if (length > limits.injectSize) {
    throw outOfRange('buffer', `at most ${limits.injectSize} bytes (injectSize)`, length);
  }
  const blocks = Math.ceil(length / ENTRY_BYTES);
  const request = target.begin(Kind.Void, undefined, options);
  checkPayload(target, request, bytes, length);
  const at = sink.reserve(blocks);
  const { entries } = sink;
  entries.put(at, code, blocks, 0, request, limits.handle, peer, 0, remote, 0, length);
  entries.putPayload(at, bytes, length);
  if (wide !== 0) putWide(entries, at, wide, wideIsOffset);
  entries.set64(at, OpField.Data64, data);
  entries.set64(at, OpField.Flags64, flags);
  sink.commit();
  return target.finish(Kind.Void, request, undefined);
}
