import { InvalidArgumentError } from 'commander';

const UNITS: Readonly<Record<string, number>> = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };

/** Reads a number of bytes, in units of 1024: `4096`, `4k`, `64M`, `1G`. Undefined for any other text. */
export function parseBytes(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d+)([kmg]?)$/i.exec(text) ?? [];
  const value = Number(digits) * (UNITS[unit.toLowerCase()] ?? 1);
  return Number.isSafeInteger(value) ? value : undefined;
}

const textOf = (bytes: number) =>
  Object.entries(UNITS).reduce(
    (text, [unit, base]) =>
      bytes > 0 && bytes % base === 0 ? `${bytes / base}${unit.toUpperCase()}` : text,
    String(bytes),
  );

/** The message for a number of bytes that is not within these limits. */
export const bytesWanted = (from: number, to: number): string =>
  `It must be from ${textOf(from)} to ${textOf(to)} bytes, such as 64M or 1G.`;

/** Reads an argument that is a number of bytes. */
export function bytesArgument(from: number, to: number) {
  return (text: string): number => {
    const value = parseBytes(text);
    if (value !== undefined && value >= from && value <= to) return value;
    throw new InvalidArgumentError(bytesWanted(from, to));
  };
}
