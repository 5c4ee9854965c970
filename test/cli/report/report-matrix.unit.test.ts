// The report of measurements between many ranks.
import { afterAll, expect, test } from 'vitest';
import { ReportFolder, rowsOf, sectionOf, textOf } from '../../support/report.js';
import { matrix, slowMatrix } from '../../support/results.js';

const folder = new ReportFolder();
afterAll(() => folder.remove());

test('a slow rank of a matrix is reported with its host', async () => {
  const page = await folder.page({ ...slowMatrix(8, 3, 400), label: 'all' });
  const section = sectionOf(page, 'all') ?? '';
  const named = [...section.matchAll(/<li><strong>(.*?)<\/strong>/g)].map(([, name]) => name);
  expect(named).toEqual(['Rank 3']);
  expect(textOf(section)).toContain(
    'Rank 3 (host-3) is slow: it sends at 40 % and receives at 40 % of the median pair’s speed.',
  );
  expect(rowsOf(section)).toContainEqual(['3 (slow)', 'host-3', '400', '40 %', '400', '40 %']);
});

test('for latency, long times are slow, and a pair can be slow although its ranks are not', async () => {
  const values = slowMatrix(6, 0, 1000).values.map((row) => [...row]);
  values[1]![4] = 5000;
  const page = await folder.page(matrix(values, { metric: 'us', label: 'times' }));
  const found = /<ul class="findings">.*?<\/ul>/s.exec(page)?.[0] ?? '';
  expect(textOf(found)).toBe(
    '1 to 4 is slow, though its ranks are not: at 20 % of the median pair’s speed.',
  );
});

test('pairs within a host and between hosts are compared separately', async () => {
  const values = [0, 1, 2, 3].map((i) =>
    [0, 1, 2, 3].map((j) => (i === j ? null : i >> 1 === j >> 1 ? 20_000 : 5000)),
  );
  const ranks = [0, 1, 2, 3].map((rank) => ({ rank, host: 'localhost', machine: rank >> 1 }));
  const section = sectionOf(await folder.page(matrix(values, { label: 'two', ranks })), 'two');
  const text = textOf(section ?? '');
  expect(text).toContain(
    '4 ranks on 2 hosts; the median pair has 20,000 MB/s within a host, 5,000 MB/s between hosts.',
  );
  expect(text).toContain('No rank and no pair is slow');
  expect(rowsOf(section)).toContainEqual([
    ...['3', 'localhost', '20,000', '5,000', '100 %', '20,000', '5,000', '100 %'],
  ]);
});

/** The figures that are drawn into the heat map of the wide page. */
const drawnIn = (page: string): string[] => {
  const [, marks = ''] =
    /<div class="wide">.*?<g aria-label="text" pointer-events="none".*?>(.*?)<\/g>/s.exec(page) ??
    [];
  return [...marks.matchAll(/<text[^>]*>(.*?)<\/text>/g)].map(([, text]) => text as string);
};

test('the heat map has the figures of up to 16 ranks, and a diagonal', async () => {
  const three = await folder.page({
    ...matrix([
      [null, 1234.5, 12_345],
      [0.123, null, 12.3],
      [null, 99.94, null],
    ]),
    label: 'three',
  });
  expect(drawnIn(three).sort()).toEqual(
    ['1235', '12.3k', '0.123', '12.3', 'none', '99.9', '–', '–', '–'].sort(),
  );
  expect(drawnIn(await folder.page(slowMatrix(16, 0, 400)))).toHaveLength(16 ** 2);
  expect(drawnIn(await folder.page(slowMatrix(17, 0, 400)))).toEqual([]);
});

test('failed pairs of a matrix are shown, and a matrix without figures is not an error', async () => {
  const page = await folder.page(
    matrix(
      [
        [null, 10, 10],
        [10, null, null],
        [10, 10, null],
      ],
      { label: 'part' },
    ),
    matrix(
      [
        [null, null],
        [null, null],
      ],
      { label: 'none' },
    ),
  );
  expect(rowsOf(sectionOf(page, 'part'))).toContainEqual(['1', '10', '–', 'failed']);
  expect(textOf(sectionOf(page, 'part') ?? '')).toContain('1 pair has no figure.');
  expect(textOf(sectionOf(page, 'part') ?? '')).not.toContain('is slow');
  expect(textOf(sectionOf(page, 'none') ?? '')).toContain('It has no figures.');
});

test('a large matrix is drawn with fewer cells than pairs', async () => {
  const page = await folder.page({ ...slowMatrix(100, 7, 400), label: 'large' });
  const cells = page.match(/<rect/g)?.length ?? 0;
  expect(cells).toBeGreaterThan(100);
  expect(cells).toBeLessThan(2000);
});
