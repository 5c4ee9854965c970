// The format of figures. The number of decimals is fixed, so that the decimal points of a column
// align.

const english = (digits: number) =>
  new Intl.NumberFormat('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
const two = english(2);
const whole = english(0);

/** `10543.2` reads `'10,543.20'`. */
export function decimalText(value: number): string {
  return two.format(value);
}

/** `10543.2` reads `'10,543'`. */
export function wholeText(value: number): string {
  return whole.format(value);
}

/**
 * Three significant digits, or all digits before the decimal point: `0.00417`, `4.17`, `10,543`.
 */
export function shortText(value: number): string {
  if (Math.abs(value) >= 1000) return wholeText(value);
  return String(Number(value.toPrecision(3)));
}

/** `1.2` reads `'1.20×'`. */
export function ratioText(ratio: number): string {
  return `${decimalText(ratio)}×`;
}

/** `'2026-11-21 12:05'`, UTC. */
export function dateText(iso: string): string {
  return new Date(iso).toISOString().slice(0, 16).replace('T', ' ');
}
