/**
 * What JSON has no type for: a bigint is a string of decimal digits, the mask memTagFormat one in
 * hex (BigInt() reads both), bytes are hex digits, and a size without limit is `"Infinity"`.
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
