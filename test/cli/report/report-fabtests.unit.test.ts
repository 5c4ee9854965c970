import { afterAll, expect, test } from 'vitest';
import { ReportFolder, rowsOf, sectionOf, textOf } from '../../support/report.js';
import { benchmark, rowOf } from '../../support/results.js';

const folder = new ReportFolder();
afterAll(() => folder.remove());

const YAML = `---
/usr/bin/fi_rma_bw -p tcp -m -o writedata 127.0.0.1 :
- { xfer_size: 64, iterations: 20000, total: 1280000, time: 0.030000, MB/sec: 42.666667, usec/xfer: 1.500000, Mxfers/sec: 0.666667 }
- { xfer_size: 65536, iterations: 2000, total: 131072000, time: 0.020000, MB/sec: 6553.600000, usec/xfer: 10.000000, Mxfers/sec: 0.100000 }
`;

const TABLE = `bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec
64      20k     2.4m        0.03s     42.67       1.50       0.67
64k     2k      125m        0.02s   6553.60      10.00       0.10
`;

const figures = (page: string) =>
  rowsOf(sectionOf(page, 'Bandwidth and time per transfer')).slice(2);

test('YAML and the table of fabtests have the same figures in a comparison with this package', async () => {
  const own = benchmark({ rows: [rowOf(64, 3)] });
  for (const text of [YAML, TABLE]) {
    expect(figures(await folder.page(own, text))).toEqual([
      ['64', '21.33', '3.00', '42.67', '1.50', '2.00×'],
      ['64k', '', '', '6,553.60', '10.00', ''],
      ['geometric mean', '', '', '', '', '2.00×'],
    ]);
  }
});

test('YAML contains the benchmark, and its arguments are shown in the environment', async () => {
  const page = await folder.page(YAML);
  expect(rowsOf(sectionOf(page, 'Runs'))[1]?.slice(0, 2)).toEqual(['fi_rma_bw', 'fi_rma_bw']);
  const environment = rowsOf(sectionOf(page, 'Environment'));
  expect(environment).toContainEqual(['arguments', 'fi_rma_bw -p tcp -m -o writedata 127.0.0.1']);
});

test('fi_rma_bw counts as the same benchmark as rma-bw', async () => {
  const page = await folder.page(benchmark({ rows: [rowOf(64, 3)] }), YAML);
  expect(sectionOf(page, 'Warnings')).toBeUndefined();
});

test('units in YAML are parsed like those of the table', async () => {
  const short =
    '- { xfer_size: 1k, iterations: 20k, total: 19.5m, time: 0.04, MB/sec: 512, usec/xfer: 2, Mxfers/sec: 0.5}';
  expect(figures(await folder.page(`---\nfi_rma_bw -m :\n${short}\n`))).toEqual([
    ['1k', '512.00', '2.00'],
  ]);
});

test('the rounded figure with more digits is used', async () => {
  const rows =
    '64      20k     1.2m        0.01s    209.90       0.30       3.28\n8m      20      160m        0.07s  2400.00    3495.25       0.00';
  const page = await folder.page(`${TABLE.split('\n')[0]}\n${rows}\n`);
  expect(figures(page)).toEqual([
    ['64', '209.90', '0.30'],
    ['8m', '2,400.00', '3,495.25'],
  ]);
  const own = benchmark({ rows: [rowOf(64, 0.305)] });
  expect(
    figures(await folder.page(`${TABLE.split('\n')[0]}\n${rows}\n`, own))
      .at(-1)
      ?.at(-1),
  ).toBe('1.00×');
});

test('each table and each YAML document is a separate run', async () => {
  const page = await folder.page(`some other line\n${TABLE}\n${TABLE}${YAML}`);
  const names = rowsOf(sectionOf(page, 'Runs')).map(([name]) => name);
  expect(names.slice(1)).toEqual(['fabtests', 'fabtests (2)', 'fi_rma_bw']);
});

test("fi_pingpong's table has other columns", async () => {
  const page =
    await folder.page(`bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec
64      10      =10      1.2k        0.00s     42.67       1.50       0.67
`);
  const section = sectionOf(page, 'Time per transfer and bandwidth');
  expect(rowsOf(section).slice(2)).toEqual([['64', '1.50', '42.67']]);
});

test('the page warns of transfers in both directions and of rounded figures', async () => {
  const warnings = async (text: string) =>
    textOf(sectionOf(await folder.page(text), 'Warnings') ?? '');
  const bothWays = 'fi_rma_bw reads and writes in both directions at once.';
  expect(await warnings(YAML.replace(' -o writedata', ''))).toContain(bothWays);
  expect(await warnings(YAML.replace('writedata', 'read'))).toContain(bothWays);
  expect(await warnings(YAML)).toBe('');
  expect(await warnings(TABLE)).toContain('figures are rounded');
});
