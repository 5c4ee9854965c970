// How figures are written. Fixed decimals, so that a column's points are below one another.

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

/** Three digits and more where there are more before the point: `0.00417`, `4.17`, `10,543`. */
export function shortText(value: number): string {
  if (Math.abs(value) >= 1000) return wholeText(value);
  return String(Number(value.toPrecision(3)));
}

/** `1.2` reads `'1.20×'`. */
export function ratioText(ratio: number): string {
  return `${decimalText(ratio)}×`;
}
