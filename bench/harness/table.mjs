// Formats the tables of a run as aligned text.
const SIGN = { speed: ['>=', 'x'], time: ['<=', 'x'], more: ['<=', ' us more'], value: ['<=', ''] };

/** All medians, one line per contender and size, with the speed relative to the group's C++ loop. */
export function mediansTable(samples) {
  const inCpp = new Map(
    samples
      .filter(({ contender }) => contender === 'C++')
      .map(({ group, size, median }) => [`${group} ${size}`, median]),
  );
  const rows = samples.map(({ group, contender, size, median, unit }) => {
    const cpp = inCpp.get(`${group} ${size}`);
    return [
      group,
      sizeText(size),
      contender,
      `${number(median)} ${unit}`,
      unit === 'us' && size >= 65536 ? `${number(size / median / 1000)} GB/s` : '',
      cpp && contender !== 'C++' ? `${number(cpp / median)}x` : '',
    ];
  });
  return align([['figure', 'size', 'contender', 'median', '', 'of C++'], ...rows]);
}

/** @param {object[]} judged the results of Results.judge */
export function barsTable(judged) {
  const rows = judged.map((bar) => {
    const [sign, unit] = SIGN[bar.kind];
    return [
      bar.group,
      sizeText(bar.size),
      bar.contender,
      bar.against ?? '',
      bar.limit === undefined ? '' : `${sign} ${bar.limit}${unit}`,
      bar.measured === undefined ? '' : `${number(bar.measured)}${unit}`,
      bar.measured === undefined ? '' : `${number(bar.byTurns)}${unit}`,
      verdict(bar),
    ];
  });
  return align([
    ['figure', 'size', 'contender', 'against', 'bar', 'measured', 'by turns', ''],
    ...rows,
  ]);
}

function verdict({ limit, measured, met }) {
  if (measured === undefined) return 'not measured';
  if (limit === undefined) return '';
  return met ? 'met' : 'NOT MET';
}

export function sizeText(bytes) {
  if (bytes === undefined) return '';
  if (bytes >= 2 ** 20) return `${bytes / 2 ** 20} MiB`;
  return bytes >= 1024 ? `${bytes / 1024} KiB` : `${bytes} B`;
}

export function number(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

/** Aligns columns to their widest cell, and omits columns that are empty below their heading. */
export function align([heading, ...body]) {
  const filled = (_, column) => body.some((row) => row[column] !== '');
  const rows = [heading, ...body].map((row) => row.filter(filled));
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
