// The bytes of a client's request. A program may detach the buffer of those that it has given, or make it shorter, at any time.
import { invalidState } from '../base/errors.js';
import { bytesOf, isResizable, lengthOf } from '../base/views.js';
import { PREFIX } from './channel.js';
import { INLINED } from './protocol.js';

const HEAD = 1024; // bytes, for the head of most messages

/** The body of a request. */
export interface RequestBody {
  readonly bytes: Uint8Array;
  /** Bytes, when the call was made. */
  readonly length: number;
  /** Whether the memory is the program's. */
  readonly isLent: boolean;
  /** Memory of the message that a channel sends: the bytes are in it, behind the prefix. */
  readonly room?: Buffer;
}

/** Bytes whose memory is the client's. */
export const ownBody = (bytes: Uint8Array): RequestBody => ({
  bytes,
  length: bytes.length,
  isLent: false,
});

/**
 * Bytes of a program: short ones are copied at once, and longer ones must stay. Those of a resizable buffer are copied too: if it
 * becomes shorter, its memory cannot be read any more, also not by a thread that computes a checksum.
 */
export function bodyOf(given: Uint8Array): RequestBody {
  const bytes = bytesOf(given);
  const { length } = bytes;
  if (length > INLINED) {
    if (isResizable(bytes.buffer)) return ownBody(Uint8Array.from(bytes));
    return { bytes, length, isLent: true };
  }
  const room = Buffer.allocUnsafe(PREFIX + length + HEAD);
  const copy = room.subarray(PREFIX, PREFIX + length);
  copy.set(bytes);
  return { bytes: copy, length, isLent: false, room };
}

/** @throws Error ERR_INVALID_STATE if bytes of a program are not there any more. */
export function checkStays(name: string, bytes: Uint8Array, length: number): void {
  if (lengthOf(bytes) === length) return;
  throw invalidState(
    `the buffer of ${name} was detached or made shorter before the call had ended`,
  );
}

/** The bytes of a body, for a call that uses them at once. @throws as checkStays(). */
export function bytesNow({ bytes, length }: RequestBody): Uint8Array {
  checkStays('the body', bytes, length);
  return bytes;
}

const SLICE = 256 * 1024; // bytes

/** Copies of the bytes of a body, in slices. @throws as checkStays(). */
export function* slicesOf(body: RequestBody): Generator<Uint8Array, undefined> {
  for (let at = 0; at < body.length; at += SLICE)
    yield Uint8Array.prototype.slice.call(bytesNow(body), at, at + SLICE);
}
