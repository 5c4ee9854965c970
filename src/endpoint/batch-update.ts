import { check64, checkInteger, checkNames, checkObject, namesOf } from '../base/checks.js';
import { invalidArgValue } from '../base/errors.js';
import { Entry, Op, OpField } from '../contract/layout.js';
import type { Entries } from '../engine/entries.js';
import { checkData, checkLength, type Limits } from './target.js';

/** The fields of an operation in a batch that update() can change. */
export interface BatchUpdate {
  /** Offset of the first buffer, in bytes from the start of its memory. */
  readonly offset?: number;
  /** Length of the first buffer in bytes. */
  readonly length?: number;
  /** RMA and atomics: offset in the remote region, in bytes. */
  readonly remoteOffset?: number;
  /** Tagged operations: the tag. */
  readonly tag?: bigint | number;
  /**
   * Tagged operations: the amount added to the tag at every submission. Initially 0; at most 2^32 -
   * 1.
   */
  readonly tagStep?: number;
  /** Operations with remote CQ data: the data. */
  readonly data?: bigint | number;
}

const NAMES = namesOf<BatchUpdate>({
  offset: 1,
  length: 1,
  remoteOffset: 1,
  tag: 1,
  tagStep: 1,
  data: 1,
});

const REMOTE_CQ_DATA = 1 << 17;

// The bytes of an inject are already copied, and the operand of an atomic has the length of its
// result.
const RESIZED = setOf(Op.Send, Op.Tsend, Op.Write, Op.Read, Op.Recv, Op.Trecv);
const REMOTE = setOf(Op.Write, Op.Read, Op.Atomic, Op.InjectWrite);
const TAGGED = setOf(Op.Tsend, Op.Trecv, Op.Tinject);

/** One bit for each code. */
function setOf(...codes: Op[]): number {
  return codes.reduce((set, code) => set | (1 << code), 0);
}

const MOST_TAG_STEP = 0xffff_ffff;

/**
 * Changes the operation at an entry. Checks all fields before it writes any. Returns whether
 * anything but the tag and its step has changed.
 */
export function updateEntry(
  entries: Entries,
  start: number,
  limits: Limits,
  change: BatchUpdate,
): boolean {
  const { offset, length, remoteOffset, tag, tagStep, data } = checkObject('change', change);
  const { u32, f64 } = entries;
  const wide = start * Entry.F64;
  const code = ((u32[start * Entry.U32] as number) & 0xff) as Op;
  const check = (name: string, value: unknown, allowed: boolean) => {
    if (value !== undefined && !allowed) {
      throw invalidArgValue(name, 'cannot be changed in this operation');
    }
  };
  check('offset', offset, ((RESIZED >> code) & 1) === 1);
  check('length', length, ((RESIZED >> code) & 1) === 1);
  check('remoteOffset', remoteOffset, ((REMOTE >> code) & 1) === 1);
  check('tag', tag, ((TAGGED >> code) & 1) === 1);
  check('tagStep', tagStep, ((TAGGED >> code) & 1) === 1);
  const low = u32[start * Entry.U32 + OpField.Flags64 * 2] as number;
  check('data', data, (low & REMOTE_CQ_DATA) !== 0);
  if (offset !== undefined) checkInteger('offset', offset);
  if (length !== undefined) {
    const before = f64[wide + OpField.Length64] as number;
    const all = lengthOf(entries, start);
    const now = all - before + checkInteger('length', length);
    if (code !== Op.Recv && code !== Op.Trecv) checkLength(limits, now);
  }
  if (remoteOffset !== undefined) checkInteger('remoteOffset', remoteOffset);
  if (tag !== undefined) check64('tag', tag);
  if (tagStep !== undefined) checkInteger('tagStep', tagStep, 0, MOST_TAG_STEP);
  if (data !== undefined) checkData(limits, data);

  if (offset !== undefined) f64[wide + OpField.Offset64] = offset;
  if (length !== undefined) f64[wide + OpField.Length64] = length;
  if (remoteOffset !== undefined) f64[wide + OpField.Tag64] = remoteOffset;
  if (tag !== undefined) entries.setTag(start, tag);
  if (tagStep !== undefined) entries.setTagStep(start, tagStep);
  if (data !== undefined) entries.setData(start, data);
  const others = offset ?? length ?? remoteOffset ?? data;
  if (others === undefined && tag === undefined && tagStep === undefined) {
    checkNames('change', change, NAMES);
  }
  return others !== undefined;
}

/** The total length of an operation's segments in bytes. */
function lengthOf(entries: Entries, start: number): number {
  let total = entries.f64[start * Entry.F64 + OpField.Length64] as number;
  const more = ((entries.u32[start * Entry.U32] as number) >>> 16) & 0xff;
  for (let i = 0; i < more; i++) total += entries.segmentLength(start, i);
  return total;
}
