// The parts of a report about several NICs.
import { afterAll, describe, expect, test } from 'vitest';
import { ReportFolder, rowsOf, sectionOf } from '../../support/report.js';
import { benchmark, rowOf, transferRow } from '../../support/results.js';

const folder = new ReportFolder();
afterAll(() => folder.remove());

test('the figures of several NICs are shown, and a slow one is marked', async () => {
  const rates = { fast: 1000, faster: 1010, slow: 700 };
  const nics = Object.entries(rates).map(([name, megabytesPerSecond]) => ({
    name,
    megabytesPerSecond,
  }));
  const page = await folder.page(
    benchmark({ label: 'several', rows: [rowOf(64, 1, { nics }), rowOf(4096, 1)] }),
    benchmark({ label: 'one', rows: [rowOf(64, 1)] }),
  );
  const section = sectionOf(page, 'NICs');
  expect(rowsOf(section)).toEqual([
    ['bytes', 'fast', 'faster', 'slow'],
    ['64', '1,000.00', '1,010.00', '700.00'],
    ['4k', '', '', ''],
  ]);
  const marked = [...(section ?? '').matchAll(/<td class="slower">(.*?)<\/td>/g)];
  expect(marked.map(([, text]) => text)).toEqual(['700.00']);
  const charts = [...(section ?? '').matchAll(/<figcaption>(.*?)<\/figcaption>/g)];
  expect(charts.map(([, title]) => title)).toEqual(['several']);
});

describe('the rails of a transfer', async () => {
  const rows = [2 ** 20, 2 ** 26].map(transferRow);
  const page = await folder.page(benchmark({ command: 'transfer', rows }));
  const section = sectionOf(page, 'Rails over time') ?? '';

  test('have a chart for each size, with a line for each rail and one for all', () => {
    const titles = [...section.matchAll(/<figcaption>(.*?)<\/figcaption>/g)];
    expect(titles.map(([, title]) => title)).toEqual([
      '1m bytes per transfer',
      '64m bytes per transfer',
    ]);
    const [drawing] = /<div class="widest">.*?<\/div>/s.exec(section) as RegExpExecArray;
    const lines = drawing.match(/<g aria-label="line"[^>]*stroke="[^"]*"/g) ?? [];
    expect(lines.map((line) => line.replace(/^.*stroke=/, ''))).toEqual([
      '"var(--ink)"',
      '"var(--series-1)"',
      '"var(--series-2)"',
    ]);
  });

  test('reach the bottom of the chart while they are lost', () => {
    const [drawing] = /<div class="widest">.*?<\/div>/s.exec(section) as RegExpExecArray;
    const bottom = 330 - 44; // the height without the margin
    const paths = [...drawing.matchAll(/<g aria-label="line".*?<path d="(.*?)"/gs)];
    const lost = paths.map(([, path = '']) =>
      [...path.matchAll(/[ML][\d.]+,([\d.]+)/g)].some(([, y]) => Number(y) === bottom),
    );
    expect(lost).toEqual([false, false, true]);
  });

  test('have their part of the bytes in a table, and trouble is marked', () => {
    expect(rowsOf(section).slice(0, 3)).toEqual([
      ['bytes', 'rail', 'share', 'MB/s', 'bytes', 'slices', 'repeats', 'retries', 'failures'],
      ['1m', 'rdmap0s6', '60.00 %', '60.00', '629,145,600', '40', '1', '0', '0'],
      ['1m', 'rdmap0s7', '40.00 %', '40.00', '419,430,400', '40', '1', '8', '2'],
    ]);
    const marked = [...section.matchAll(/<td class="trouble">(.*?)<\/td>/g)];
    expect(marked.map(([, text]) => text)).toEqual(['8', '2', '8', '2']);
  });

  test('are not shown for other benchmarks', async () => {
    const other = await folder.page(benchmark({ rows: [rowOf(64, 1)] }));
    expect(sectionOf(other, 'Rails over time')).toBeUndefined();
  });
});
