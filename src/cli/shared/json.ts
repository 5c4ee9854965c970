/**
 * Converts a value to JSON text. A bigint becomes a string of decimal digits, the mask memTagFormat
 * a string in hex (BigInt() reads both), bytes become hex digits, and a size without limit becomes
 * `"Infinity"`.
 */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, toJson, 2)}\n`;
}

function toJson(key: string, value: unknown): unknown {
  if (typeof value === 'bigint') {
    return key === 'memTagFormat' ? `0x${value.toString(16)}` : value.toString();
  }
  if (value === Number.POSITIVE_INFINITY) return 'Infinity';
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return value;
}
