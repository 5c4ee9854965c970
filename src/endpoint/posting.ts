// Writes an operation to its target: the engine's ring or a batch. A call begins the operation, sets
// what it has, and submits it. Nothing may run between the two that could begin another operation.
//
// As in target.ts, the code that runs for every operation is kept small, so that V8 inlines it.

import { checkBytes } from '../base/checks.js';
import { invalidArgValue, outOfRange } from '../base/errors.js';
import type { Peer } from '../base/peer.js';
import { lengthOf } from '../base/views.js';
import type { Op } from '../contract/layout.js';
import { blocksOfPayload } from '../engine/entries.js';
import type { Buffers, Location } from '../engine/memory.js';
import { Kind } from '../engine/requests.js';
import { Located } from './located.js';
import {
  type CheckedOptions,
  checkLength,
  INJECTED,
  peerHandle,
  REMOTE_CQ_DATA,
  type Source,
  sourceHandle,
  type Target,
} from './target.js';

/** Begins a send of one buffer. Returns its entry, whose tag and data the caller sets. */
export function beginSend(
  target: Target,
  code: Op,
  buffer: Buffers,
  peer: Peer,
  options: CheckedOptions | undefined,
): number {
  const to = peerHandle(target.limits, peer);
  const location = locateToSend(target, buffer);
  checkLength(target.limits, location.length, options);
  const at = beginOne(target, code, Kind.Void, buffer, location, options);
  target.sink.entries.setPeer(at, to);
  return at;
}

/** Begins a send of several buffers as one message. */
export function beginSendv(
  target: Target,
  code: Op,
  buffers: readonly Buffers[],
  peer: Peer,
  options: CheckedOptions | undefined,
): number {
  const { limits } = target;
  const to = peerHandle(limits, peer);
  const located = new Located(limits.engine, buffers, limits.sendSegments);
  checkLength(limits, located.total, options);
  const at = beginMany(target, code, Kind.Void, located.buffers, located, options);
  target.sink.entries.setPeer(at, to);
  return at;
}

/** Begins a receive into one buffer. Returns its entry, whose tag the caller sets. */
export function beginRecv(
  target: Target,
  code: Op,
  buffer: Buffers,
  source: Source,
  options: CheckedOptions | undefined,
): number {
  const { limits } = target;
  const from = sourceHandle(limits, source);
  const location = limits.engine.memory.locate(buffer);
  const at = beginOne(target, code, Kind.Completion, buffer, location, options);
  target.sink.entries.setPeer(at, from);
  return at;
}

// Over shm, the engine uses one of them for what does not fit.
const RECEIVE_LIMIT = 'rxAttr.iovLimit, over shm one fewer';

/** Begins a receive of one message into several buffers. */
export function beginRecvv(
  target: Target,
  code: Op,
  buffers: readonly Buffers[],
  source: Source,
  options: CheckedOptions | undefined,
): number {
  const { limits } = target;
  const from = sourceHandle(limits, source);
  const { engine, receiveSegments } = limits;
  const located = new Located(engine, buffers, receiveSegments, { reason: RECEIVE_LIMIT });
  const at = beginMany(target, code, Kind.Completion, located.buffers, located, options);
  target.sink.entries.setPeer(at, from);
  return at;
}

/**
 * Locates a buffer to send. A batch sends the content at the time of submission; other sends use
 * the content at the time of the call.
 */
export function locateToSend({ limits, sink }: Target, buffer: Buffers): Location {
  const { memory, submissions } = limits.engine;
  return memory.locate(buffer, 'buffer', sink === submissions);
}

/**
 * Begins an operation with one buffer, and copies small payloads inline. Returns its entry.
 *
 * @param owner the objects that the operation keeps alive.
 */
export function beginOne(
  target: Target,
  code: Op,
  kind: Kind,
  owner: unknown,
  location: Location,
  options: CheckedOptions | undefined,
): number {
  const { handle, offset, length, carried } = location; // begin() may locate other buffers there
  const request = target.begin(kind, owner, options);
  if (handle === 0 && length > 0) {
    return beginCarried(target, code, request, carried as Uint8Array, length, options);
  }
  const { sink } = target;
  const at = sink.reserve(0);
  const { entries } = sink;
  entries.begin(at, code, request, target.limits.handle);
  entries.setMemory(at, handle, offset, length);
  if (options !== undefined) entries.setFlags(at, options.flags);
  return at;
}

/** Begins an operation with several buffers. Returns its entry. */
export function beginMany(
  target: Target,
  code: Op,
  kind: Kind,
  owner: unknown,
  located: Located,
  options: CheckedOptions | undefined,
): number {
  const request = target.begin(kind, owner, options);
  const { sink } = target;
  const at = sink.reserve(located.blocks);
  const { entries } = sink;
  entries.begin(at, code, request, target.limits.handle);
  located.put(entries, at);
  if (options !== undefined) entries.setFlags(at, options.flags);
  return at;
}

/**
 * Begins an inject. Its payload is copied into the ring, so the caller may reuse the buffer at once.
 * Returns its entry.
 */
export function beginInject(
  target: Target,
  code: Op,
  buffer: ArrayBufferView | ArrayBuffer,
  peer: Peer,
  options?: CheckedOptions,
): number {
  const { injectSize } = target.limits;
  const to = peerHandle(target.limits, peer);
  const bytes = checkBytes('buffer', buffer);
  const length = lengthOf(bytes);
  if (length > injectSize) {
    throw outOfRange('buffer', `at most ${injectSize} bytes (injectSize)`, length);
  }
  const request = target.begin(Kind.Void, INJECTED, options);
  const at = beginCarried(target, code, request, bytes, length, undefined);
  target.sink.entries.setPeer(at, to);
  return at;
}

function beginCarried(
  target: Target,
  code: Op,
  request: number,
  bytes: Uint8Array,
  length: number,
  options: CheckedOptions | undefined,
): number {
  // begin() reads the options, whose accessors may have detached the buffer.
  if (lengthOf(bytes) < length) {
    target.withdraw(request);
    throw invalidArgValue('buffer', 'is detached');
  }
  const { sink } = target;
  const at = sink.reserve(blocksOfPayload(length));
  const { entries } = sink;
  entries.begin(at, code, request, target.limits.handle);
  entries.setPayload(at, bytes, length);
  if (options !== undefined) entries.setFlags(at, options.flags);
  return at;
}

/** Sets the remote CQ data of an operation, if it has any. */
export function setData({ sink }: Target, at: number, data: bigint | number | undefined): void {
  if (data === undefined) return;
  sink.entries.setData(at, data);
  sink.entries.addFlag(at, REMOTE_CQ_DATA);
}

/** Submits an operation that was begun. Returns what its call returns. */
export function submit(target: Target, at: number, options?: CheckedOptions): unknown {
  const { sink } = target;
  const request = sink.entries.request(at);
  sink.commit();
  return target.finish(request, options);
}
