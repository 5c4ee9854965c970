// The tables and verdicts of a comparison with fabtests.
import { median } from './harness/results.mjs';
import { align, number, sizeText } from './harness/table.mjs';

/**
 * The ratios of medians, ours/theirs, with their geometric mean and the worst ratio.
 * @param {{ C: object[][], ours: object[][] }} rounds rows of every round
 */
export function judgeFigure({ name, bar }, rounds) {
  const [theirs, ours] = [mediansOf(rounds.C, bar.field), mediansOf(rounds.ours, bar.field)];
  const sizes = [...theirs.keys()].filter((size) => ours.has(size));
  const ratios = sizes.map((size) => ({
    size,
    theirs: theirs.get(size),
    ours: ours.get(size),
    ratio: ours.get(size) / theirs.get(size),
  }));
  if (ratios.length === 0) return { name, bar, ratios };
  const logs = ratios.map(({ ratio }) => Math.log(ratio));
  const mean = Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length);
  const worst = ratios.reduce((a, b) => (better(bar, a.ratio, b.ratio) ? b : a));
  const met = keeps(bar, mean, bar.mean) && keeps(bar, worst.ratio, bar.each);
  return { name, bar, ratios, mean, worst, met };
}

const better = ({ atLeast }, a, b) => (atLeast ? a > b : a < b);
const keeps = (bar, ratio, limit) => limit === undefined || !better(bar, limit, ratio);

function mediansOf(rounds, field) {
  const figures = new Map();
  for (const row of rounds.flat()) {
    const size = row.xfer_size;
    figures.set(size, [...(figures.get(size) ?? []), row[field]]);
  }
  return new Map([...figures].map(([size, values]) => [size, median(values)]));
}

/** The table of ratios, with one line per figure and size. */
export function ratiosTable(judged) {
  const rows = judged.flatMap(({ name, bar, ratios }) =>
    ratios.map(({ size, theirs, ours, ratio }) => [
      name,
      sizeText(size),
      `${number(theirs)} ${unitOf(bar)}`,
      `${number(ours)} ${unitOf(bar)}`,
      `${ratio.toFixed(2)}x`,
    ]),
  );
  return align([['figure', 'size', 'fabtests', 'ours', 'ratio'], ...rows]);
}

const unitOf = ({ atLeast }) => (atLeast ? 'MB/s' : 'us');

/** The table of verdicts, with one line per figure. */
export function verdictsTable(judged) {
  const rows = judged.map(({ name, bar, mean, worst, met }) => [
    name,
    mean === undefined ? '' : `${mean.toFixed(3)}x`,
    worst === undefined ? '' : `${worst.ratio.toFixed(2)}x at ${sizeText(worst.size)}`,
    barText(bar),
    met === undefined ? 'not measured' : met ? 'met' : 'NOT MET',
  ]);
  return align([['figure', 'geometric mean', 'worst', 'bar', ''], ...rows]);
}

function barText({ mean, each, atLeast }) {
  const sign = atLeast ? '>=' : '<=';
  return `${sign} ${mean}${each === undefined ? '' : `, each ${sign} ${each}`}`;
}
