// The data that fabtests send with -v: 62 letters, repeated.
const ALPHABET = Buffer.from('0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ');

let made = Buffer.from(ALPHABET);

/** The first `length` bytes of the pattern. Do not write to them. */
export function pattern(length: number): Buffer {
  if (made.length < length) made = Buffer.alloc(length + (1 << 16), ALPHABET);
  return made.subarray(0, length);
}

/** Received data that differs from what the peer sent. */
export class DataCheckError extends Error {
  override readonly name = 'DataCheckError';
}

/** Fills bytes with the pattern, from its start. */
export function fillPattern(bytes: Uint8Array): void {
  bytes.set(pattern(bytes.length));
}

/** Throws if bytes differ from the pattern. */
export function verifyPattern(bytes: Uint8Array): void {
  const expected = pattern(bytes.length);
  if (expected.equals(bytes)) return;
  const at = bytes.findIndex((byte, i) => byte !== expected[i]);
  const [want, got] = [expected[at], bytes[at]].map((byte) => String.fromCharCode(byte as number));
  throw new DataCheckError(
    `Data check error (${want}!=${got}) at byte ${at} for buffer size ${bytes.length}`,
  );
}
