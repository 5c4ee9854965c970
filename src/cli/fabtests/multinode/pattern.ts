/** Fills bytes with a pattern that differs from size to size. */
export function fillPattern(bytes: Uint8Array, seed: number): void {
  for (let i = 0; i < bytes.length; i++) bytes[i] = (seed * 31 + i * 7 + (i >> 8)) & 0xff;
}

/** Throws where bytes differ from the pattern. */
export function checkPattern(bytes: Uint8Array, seed: number, what: string): void {
  const expected = new Uint8Array(bytes.length);
  fillPattern(expected, seed);
  if (Buffer.compare(bytes, expected) === 0) return;
  const at = bytes.findIndex((byte, i) => byte !== expected[i]);
  throw new Error(`${what}: byte ${at} is ${bytes[at]}, not ${expected[at]}`);
}
