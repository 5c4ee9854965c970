import { check64, checkInteger, checkOptions } from './checks.js';
import { checkData, checkLength, type Limits } from './endpoint/target.js';
import type { Entries } from './engine/entries.js';
import { ENTRY_F64, ENTRY_U32, Op, OpField } from './engine/layout.js';
import { invalidArgValue } from './errors.js';

/** What update() may change of an operation in a batch. */
export interface BatchUpdate {
  /** Where the first buffer starts, in bytes from the start of its memory. */
  readonly offset?: number;
  /** Bytes of the first buffer. */
  readonly length?: number;
  /** RMA and atomics: bytes from the start of the remote region. */
  readonly remoteOffset?: number;
  /** Tagged operations. */
  readonly tag?: bigint | number;
  /** Tagged operations: what the tag grows by with every submission, 0 at first; at most 2^32 - 1. */
  readonly tagStep?: number;
  /** Operations that carry remote CQ data. */
  readonly data?: bigint | number;
}

const REMOTE_CQ_DATA = 1 << 17;

// An inject's bytes were copied, an atomic's must be as long as what is fetched.
const RESIZED = setOf(Op.Send, Op.Tsend, Op.Write, Op.Read, Op.Recv, Op.Trecv);
const REMOTE = setOf(Op.Write, Op.Read, Op.Atomic, Op.InjectWrite);
const TAGGED = setOf(Op.Tsend, Op.Trecv, Op.Tinject);

/** A bit for each. */
function setOf(...codes: Op[]): number {
  return codes.reduce((set, code) => set | (1 << code), 0);
}

const MOST_TAG_STEP = 0xffff_ffff;

/**
 * Changes the operation at an entry: checks all there is to change, then writes. Says whether anything
 * has changed but the tag, and what it grows by.
 */
export function updateEntry(
  entries: Entries,
  start: number,
  limits: Limits,
  change: BatchUpdate,
): boolean {
  const { offset, length, remoteOffset, tag, tagStep, data } = checkOptions('change', change);
  const { u32, f64 } = entries;
  const wide = start * ENTRY_F64;
  const code = ((u32[start * ENTRY_U32] as number) & 0xff) as Op;
  const check = (name: string, value: unknown, where: boolean) => {
    if (value !== undefined && !where) {
      throw invalidArgValue(name, 'is not what this operation can be changed in');
    }
  };
  check('offset', offset, ((RESIZED >> code) & 1) === 1);
  check('length', length, ((RESIZED >> code) & 1) === 1);
  check('remoteOffset', remoteOffset, ((REMOTE >> code) & 1) === 1);
  check('tag', tag, ((TAGGED >> code) & 1) === 1);
  check('tagStep', tagStep, ((TAGGED >> code) & 1) === 1);
  const low = u32[start * ENTRY_U32 + OpField.Flags64 * 2] as number;
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
  if (data !== undefined) checkData(limits, check64('data', data));

  if (offset !== undefined) f64[wide + OpField.Offset64] = offset;
  if (length !== undefined) f64[wide + OpField.Length64] = length;
  if (remoteOffset !== undefined) f64[wide + OpField.Tag64] = remoteOffset;
  if (tag !== undefined) entries.set64(start, OpField.Tag64, tag);
  if (tagStep !== undefined) u32[start * ENTRY_U32 + OpField.Remote32] = tagStep;
  if (data !== undefined) entries.set64(start, OpField.Data64, data);
  const others = offset ?? length ?? remoteOffset ?? data;
  return others !== undefined;
}

/** Bytes of all segments of an operation. */
function lengthOf(entries: Entries, start: number): number {
  let total = entries.f64[start * ENTRY_F64 + OpField.Length64] as number;
  const more = ((entries.u32[start * ENTRY_U32] as number) >>> 16) & 0xff;
  for (let i = 0; i < more; i++) total += entries.segmentLength(start, i);
  return total;
}
