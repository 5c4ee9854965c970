import { bufferOf, offsetOf } from '../base/views.js';
import { Entry, type Op, OpField, Segment } from '../contract/layout.js';

/** The number of blocks that hold a payload. */
export const blocksOfPayload = (length: number): number => Math.ceil(length / Entry.Bytes);

/** The number of blocks that hold the segments after the first. */
export const blocksOfSegments = (segments: number): number =>
  Math.ceil(segments / Segment.PerBlock);

/**
 * Operations in memory that the engine reads: views of all widths, and methods that write them.
 * Begin an operation, then set what it has.
 */
export class Entries {
  readonly u8: Uint8Array;
  readonly u32: Uint32Array;
  readonly f64: Float64Array;
  readonly u64: BigUint64Array;
  readonly capacity: number;

  constructor(memory: ArrayBuffer) {
    this.capacity = memory.byteLength / Entry.Bytes;
    this.u8 = new Uint8Array(memory);
    this.u32 = new Uint32Array(memory);
    this.f64 = new Float64Array(memory);
    this.u64 = new BigUint64Array(memory);
  }

  /** Starts an operation. It has only what the methods below set. */
  begin(at: number, code: Op, request: number, endpoint: number): void {
    const { u32, f64 } = this;
    const word = at * Entry.U32;
    const wide = at * Entry.F64;
    u32[word + OpField.Head32] = code;
    u32[word + OpField.Request32] = request;
    u32[word + OpField.Endpoint32] = endpoint;
    u32[word + OpField.Peer32] = 0;
    u32[word + OpField.Memory32] = 0;
    u32[word + OpField.Remote32] = 0;
    f64[wide + OpField.Offset64] = 0;
    f64[wide + OpField.Length64] = 0;
    f64[wide + OpField.Tag64] = 0;
    f64[wide + OpField.Data64] = 0;
    f64[wide + OpField.Flags64] = 0;
  }

  /** The request of an operation. */
  request(at: number): number {
    return this.u32[at * Entry.U32 + OpField.Request32] as number;
  }

  /** Sets the destination of a send, or the source of a receive. Without it: any. */
  setPeer(at: number, peer: number): void {
    this.u32[at * Entry.U32 + OpField.Peer32] = peer;
  }

  /** Sets the first segment. */
  setMemory(at: number, memory: number, offset: number, length: number): void {
    this.u32[at * Entry.U32 + OpField.Memory32] = memory;
    this.f64[at * Entry.F64 + OpField.Offset64] = offset;
    this.f64[at * Entry.F64 + OpField.Length64] = length;
  }

  /** Sets the i-th segment after the first. */
  setSegment(at: number, i: number, memory: number, offset: number, length: number): void {
    const block = at + 1 + (i >> 1);
    const word = block * Entry.U32 + (i & 1) * Segment.U32;
    const wide = block * Entry.F64 + (i & 1) * Segment.F64;
    this.u32[word] = memory;
    this.f64[wide + 1] = offset;
    this.f64[wide + 2] = length;
  }

  /** Sets the number of segments, and of pieces of remote regions, after the first. */
  setSegments(at: number, segments: number, remotes: number): void {
    const blocks = blocksOfSegments(segments + remotes);
    this.u32[at * Entry.U32 + OpField.Head32]! |=
      (blocks << 8) | (segments << 16) | (remotes << 24);
  }

  /**
   * Copies a payload into the operation's blocks: exactly `length` bytes, even if the buffer changes
   * meanwhile.
   */
  setPayload(at: number, bytes: Uint8Array, length: number): void {
    this.u32[at * Entry.U32 + OpField.Head32]! |= blocksOfPayload(length) << 8;
    this.f64[at * Entry.F64 + OpField.Length64] = length;
    const start = (at + 1) * Entry.Bytes;
    if (length > Entry.Bytes) {
      this.u8.set(new Uint8Array(bufferOf(bytes), offsetOf(bytes), length), start);
      return;
    }
    for (let i = 0; i < length; i++) this.u8[start + i] = bytes[i] as number;
  }

  /** Sets the first piece of a remote region. */
  setRemote(at: number, remote: number, offset: number): void {
    this.u32[at * Entry.U32 + OpField.Remote32] = remote;
    this.f64[at * Entry.F64 + OpField.Tag64] = offset;
  }

  setTag(at: number, tag: number | bigint): void {
    set64(this, at, OpField.Tag64, tag);
  }

  /** Batches: sets the amount that each submission adds to the tag. */
  setTagStep(at: number, step: number): void {
    this.u32[at * Entry.U32 + OpField.Remote32] = step;
  }

  /** Sets the bits of the tag that a receive ignores. */
  setIgnore(at: number, mask: number | bigint): void {
    set64(this, at, OpField.Data64, mask);
  }

  /** Sets the message that a receive with FI_CLAIM takes. */
  setClaim(at: number, token: number): void {
    this.u32[at * Entry.U32 + OpField.Remote32] = token;
  }

  /** Sets remote CQ data, without its flag. */
  setData(at: number, data: number | bigint): void {
    set64(this, at, OpField.Data64, data);
  }

  /** Sets the datatype and the operation of an atomic. */
  setAtomic(at: number, datatype: number, op: number): void {
    const word = at * Entry.U32 + OpField.Data64 * 2;
    this.u32[word] = datatype;
    this.u32[word + 1] = op;
  }

  setFlags(at: number, flags: number | bigint): void {
    set64(this, at, OpField.Flags64, flags);
  }

  /** Adds one of the lower 31 flags. */
  addFlag(at: number, flag: number): void {
    this.u32[at * Entry.U32 + OpField.Flags64 * 2]! |= flag;
  }

  /** Batches: sets the batch, the version of its operations, and the number of its entries. */
  setBatch(at: number, batch: number, version: number, entries: number): void {
    this.setMemory(at, batch, version, entries);
  }

  /** Batches: sets the number of rounds, and the microseconds after which none begins. */
  setRounds(at: number, times: number, span: number): void {
    this.f64[at * Entry.F64 + OpField.Tag64] = times;
    this.f64[at * Entry.F64 + OpField.Data64] = span;
  }

  /** Batches: times every n-th round, at most so many. */
  setSamples(at: number, every: number, samples: number): void {
    this.u32[at * Entry.U32 + OpField.Remote32] = every;
    this.u64[at * Entry.F64 + OpField.Flags64] = BigInt(samples);
  }

  /** Sets the sequence number of a message that is given back. */
  setArrival(at: number, arrival: number): void {
    this.u32[at * Entry.U32 + OpField.Remote32] = arrival;
  }

  /** Sets the object of a call: the memory to close, or the request to cancel. */
  setObject(at: number, number: number): void {
    this.u32[at * Entry.U32 + OpField.Memory32] = number;
  }

  /** Sets the milliseconds that a close waits for operations. */
  setTimeout(at: number, milliseconds: number): void {
    this.f64[at * Entry.F64 + OpField.Length64] = milliseconds;
  }

  /** The length of the i-th segment after the first, in bytes. */
  segmentLength(at: number, i: number): number {
    return this.f64[(at + 1 + (i >> 1)) * Entry.F64 + (i & 1) * Segment.F64 + 2] as number;
  }
}

/** Writes 64 bits, without creating a bigint if the value is a number. */
function set64(entries: Entries, at: number, field: OpField, value: number | bigint): void {
  if (typeof value === 'bigint') {
    entries.u64[at * Entry.F64 + field] = value;
    return;
  }
  const word = at * Entry.U32 + field * 2;
  entries.u32[word] = value;
  entries.u32[word + 1] = value / 0x1_0000_0000;
}
