import { bufferOf, offsetOf } from '../base/views.js';
import {
  ENTRY_BYTES,
  ENTRY_F64,
  ENTRY_U32,
  type Op,
  OpField,
  SEGMENT_F64,
  SEGMENT_U32,
} from '../contract/layout.js';

/** Operations in memory that the engine reads: views of all widths, and methods that write them. */
export class Entries {
  readonly u8: Uint8Array;
  readonly u32: Uint32Array;
  readonly f64: Float64Array;
  readonly u64: BigUint64Array;
  readonly capacity: number;

  constructor(memory: ArrayBuffer) {
    this.capacity = memory.byteLength / ENTRY_BYTES;
    this.u8 = new Uint8Array(memory);
    this.u32 = new Uint32Array(memory);
    this.f64 = new Float64Array(memory);
    this.u64 = new BigUint64Array(memory);
  }

  /** Writes an operation's first segment and clears the rest of the entry. */
  put(
    at: number,
    code: Op,
    blocks: number,
    segments: number,
    request: number,
    endpoint: number,
    peer: number,
    memory: number,
    remote: number,
    offset: number,
    length: number,
  ): void {
    const { u32, f64 } = this;
    const word = at * ENTRY_U32;
    const wide = at * ENTRY_F64;
    u32[word + OpField.Head32] = code | (blocks << 8) | (segments << 16);
    u32[word + OpField.Request32] = request;
    u32[word + OpField.Endpoint32] = endpoint;
    u32[word + OpField.Peer32] = peer;
    u32[word + OpField.Memory32] = memory;
    u32[word + OpField.Remote32] = remote;
    f64[wide + OpField.Offset64] = offset;
    f64[wide + OpField.Length64] = length;
    f64[wide + OpField.Tag64] = 0;
    f64[wide + OpField.Data64] = 0;
    f64[wide + OpField.Flags64] = 0;
  }

  /** Writes the i-th segment after the first. */
  putSegment(at: number, i: number, memory: number, offset: number, length: number): void {
    const block = at + 1 + (i >> 1);
    const word = block * ENTRY_U32 + (i & 1) * SEGMENT_U32;
    const wide = block * ENTRY_F64 + (i & 1) * SEGMENT_F64;
    this.u32[word] = memory;
    this.f64[wide + 1] = offset;
    this.f64[wide + 2] = length;
  }

  /**
   * Copies the inline payload of an operation: exactly `length` bytes, even if the buffer changes
   * meanwhile.
   */
  putPayload(at: number, bytes: Uint8Array, length: number): void {
    const start = (at + 1) * ENTRY_BYTES;
    if (length > ENTRY_BYTES) {
      this.u8.set(new Uint8Array(bufferOf(bytes), offsetOf(bytes), length), start);
      return;
    }
    for (let i = 0; i < length; i++) this.u8[start + i] = bytes[i] as number;
  }

  /** The length of the i-th segment after the first, in bytes. */
  segmentLength(at: number, i: number): number {
    return this.f64[(at + 1 + (i >> 1)) * ENTRY_F64 + (i & 1) * SEGMENT_F64 + 2] as number;
  }

  /** Writes two values of 32 bits into a field of 64 bits. */
  setPair(at: number, field: OpField, low: number, high: number): void {
    const word = at * ENTRY_U32 + field * 2;
    this.u32[word] = low;
    this.u32[word + 1] = high;
  }

  /** Writes 64 bits, without creating a bigint if the value is a number. */
  set64(at: number, field: OpField, value: number | bigint): void {
    if (typeof value === 'bigint') {
      this.u64[at * ENTRY_F64 + field] = value;
      return;
    }
    const word = at * ENTRY_U32 + field * 2;
    this.u32[word] = value;
    this.u32[word + 1] = value / 0x1_0000_0000;
  }
}
