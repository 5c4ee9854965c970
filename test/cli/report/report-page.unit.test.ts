import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { ReportFolder, rowsOf, sectionOf, textOf } from '../../support/report.js';
import { benchmark, fullRow, matrix, rowOf, slowMatrix } from '../../support/results.js';

const folder = new ReportFolder();
afterAll(() => folder.remove());

const THROUGHPUT = 'Bandwidth and time per transfer';
const SIZES = [64, 4096, 2 ** 20];

test('the page has no scripts and no external resources', async () => {
  const page = await folder.page(benchmark({ rows: SIZES.map((size) => fullRow(size, 2)) }));
  const policy = /http-equiv="Content-Security-Policy" content="(.*?)"/.exec(page)?.[1] ?? '';
  expect(textOf(policy)).toContain("default-src 'none'; style-src 'unsafe-inline'");
  expect(page.match(/<(script|link|img|iframe|object|embed|base|form)\b/i)).toBeNull();
  expect(page.match(/\s(src|href|srcset|action|on\w+)=|url\(|@import/i)).toBeNull();
});

test('runs are compared with the first at each size, and by their geometric mean', async () => {
  const page = await folder.page(
    benchmark({ label: 'first', rows: SIZES.map((size) => rowOf(size, 2)) }),
    benchmark({ label: 'second', rows: [rowOf(64, 1), rowOf(4096, 8), rowOf(100, 3)] }),
  );
  const rows = rowsOf(sectionOf(page, THROUGHPUT));
  expect(rows[0]).toEqual(['bytes', 'first', 'second']);
  expect(rows).toContainEqual(['64', '32.00', '2.00', '64.00', '1.00', '2.00×']);
  expect(rows).toContainEqual(['4k', '2,048.00', '2.00', '512.00', '8.00', '0.25×']);
  expect(rows).toContainEqual(['100', '', '', '33.33', '3.00', '']);
  expect(rows).toContainEqual(['1m', '524,288.00', '2.00', '', '', '']);
  expect(rows.at(-1)).toEqual(['geometric mean', '', '', '', '', '0.71×']);
});

test('a run is named by its label, otherwise by its command and time, and names are unique', async () => {
  const page = await folder.page(benchmark(), benchmark(), benchmark({ label: 'mine' }));
  const names = rowsOf(sectionOf(page, 'Runs')).map(([name]) => name);
  const named = 'rma-bw write efa 2026-03-04 05:06';
  expect(names).toEqual(['run', named, `${named} (2)`, 'mine']);
});

test('charts have an accessible name, and tables with the same figures', async () => {
  const page = await folder.page(
    benchmark({ label: 'mine', rows: SIZES.map((size) => fullRow(size, 7)) }),
  );
  const charts = (heading: string) => {
    const section = sectionOf(page, heading) ?? '';
    return [...section.matchAll(/<div class="wide"><svg[^>]*role="img" aria-label="([^".]*)/g)].map(
      ([, name]) => name,
    );
  };
  expect(charts(THROUGHPUT)).toEqual(['Bandwidth', 'Time per transfer']);
  expect(charts('Percentiles of the time per transfer')).toEqual(['mine']);
  expect(charts('Bandwidth over the run')).toEqual(['mine']);
  expect(charts('CPU')).toEqual(['CPU of the client', 'CPU of the server']);
  const percentiles = sectionOf(page, 'Percentiles of the time per transfer');
  expect(rowsOf(percentiles)).toContainEqual(['64', '7.00', '14.00', '35.00', '900.00']);
  expect(rowsOf(sectionOf(page, 'CPU'))).toContainEqual(['64', '0.75', '0.25']);
  expect(rowsOf(sectionOf(page, 'Bandwidth over the run'))).toContainEqual([
    '64',
    '4',
    '8.23',
    '9.14',
    '10.06',
    '20 %',
    '',
  ]);
});

test('the axis of sizes has the same names as the tables', async () => {
  const page = await folder.page(
    benchmark({ rows: [1, 1024, 2 ** 20].map((size) => rowOf(size, 1)) }),
  );
  const texts = [...page.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
  expect(texts).toEqual(expect.arrayContaining(['1', '1k', '1m', 'bytes per transfer →']));
});

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

test('counters that increased are shown, and error counters have a warning', async () => {
  const counters = { tx_bytes: 4096, rx_drops: 3, retrans_pkts: 0, rdma_read_wr_err: 1 };
  const page = await folder.page(benchmark({ rows: [rowOf(64, 1, { counters })] }));
  expect(rowsOf(sectionOf(page, 'Counters of the device'))).toEqual([
    ['bytes', 'rdma_read_wr_err', 'rx_drops', 'tx_bytes'],
    ['64', '1', '3', '4,096'],
  ]);
  expect(textOf(sectionOf(page, 'Warnings') ?? '')).toContain('rdma_read_wr_err 1, rx_drops 3.');
});

test('members that a result lacks have no section', async () => {
  const page = await folder.page(benchmark({ rows: [rowOf(64, 1)] }));
  const headings = [...page.matchAll(/<h2[^>]*>(.*?)<\/h2>/gs)].map(([, text]) => text);
  expect(headings).toEqual(['Runs', THROUGHPUT, 'Environment']);
});

test('a run without rows has a warning', async () => {
  const page = await folder.page(benchmark({ label: 'nothing' }));
  expect(textOf(sectionOf(page, 'Warnings') ?? '')).toContain('It has no rows. nothing');
  expect(sectionOf(page, THROUGHPUT)).toBeUndefined();
});

test('transfers of 0 bytes are in the table, but not on the logarithmic axis', async () => {
  const page = await folder.page(benchmark({ rows: [rowOf(0, 2), rowOf(64, 2)] }));
  expect(rowsOf(sectionOf(page, THROUGHPUT))).toContainEqual(['0', '0.00', '2.00']);
  expect(page.match(/NaN|Infinity/)).toBeNull();
});

test('warnings come first: of results, of a software device, and of different runs', async () => {
  const device = { ...benchmark().device, software: true };
  const page = await folder.page(
    benchmark({ label: 'a', warnings: ['Both directions at once.'] }),
    benchmark({ label: 'b', device, options: { window: 1, verify: true } }),
    benchmark({ label: 'c', command: 'pingpong' }),
  );
  const warnings = textOf(sectionOf(page, 'Warnings') ?? '');
  expect(warnings).toContain('Both directions at once. a');
  expect(warnings).toContain('Measured on a software device: its speed is not that of hardware. b');
  expect(warnings).toContain('window is 1, and 64 in the first run. b');
  expect(warnings).toContain('Not the benchmark of the first run, rma-bw');
  expect(page.indexOf('Warnings')).toBeLessThan(page.indexOf('>Runs<'));
});

test('the environment of each run is shown, and differences are marked', async () => {
  const software = { ...benchmark().software, kernel: '5.10.0' };
  const page = await folder.page(benchmark({ label: 'a' }), benchmark({ label: 'b', software }));
  const environment = sectionOf(page, 'Environment') ?? '';
  const marked = [...environment.matchAll(/<tr class="differs">.*?<\/tr>/gs)].flatMap(([row]) =>
    rowsOf(row),
  );
  expect(marked).toEqual([['kernel', '6.1.0', '5.10.0']]);
  expect(rowsOf(environment)).toContainEqual(['libfabric', '2.1.0', '2.1.0']);
});

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

test('text of a result is escaped', async () => {
  const bad = `</script></style></title><img src=x onerror="alert(1)">'"&<!--`;
  const { software, device } = benchmark();
  const every = <T extends object>(fields: T) =>
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [
        name,
        typeof value === 'string' ? bad : value,
      ]),
    );
  const rows = SIZES.map((size) => ({ ...fullRow(size, 3), counters: { [bad]: 1 } }));
  const options = { verify: true, [bad]: bad };
  const changes = { label: bad, command: bad, arguments: [bad], operation: bad, warnings: [bad] };
  const header = { ...changes, software: every(software), device: every(device) };
  const files = [
    folder.write('hostile.json', { ...benchmark(), ...header, options, rows }),
    folder.write('matrix.json', {
      ...matrix([
        [null, 1],
        [2, null],
      ]),
      ...header,
      ranks: [0, 1].map((rank) => ({ rank, host: bad })),
    }),
  ];
  const { stdout: page } = await folder.report('-o', '-', '--title', bad, ...files);
  const tags = new Set([...page.matchAll(/<[!/]?([\w-]*)/g)].map(([, tag]) => tag));
  for (const tag of ['img', 'script', '']) expect(tags).not.toContain(tag);
  expect(page.match(/<\/style>/g)).toHaveLength(1);
  expect(page.match(/<\/title>/g)!.length).toBe(page.match(/<title>/g)!.length);
  expect(textOf(page)).toContain(bad);
});

test('without -o the page is report.html, and the name is printed', async () => {
  const file = folder.write('one.json', benchmark());
  expect(await folder.report('--title', 'My <runs>', file)).toMatchObject({
    status: 0,
    stdout: 'report.html\n',
  });
  const page = readFileSync(join(folder.path, 'report.html'), 'utf8');
  expect(textOf(/<title>.*?<\/title>/.exec(page)?.[0] ?? '')).toBe('My <runs>');
});

test('the libraries of the command line are bundled with their licences', () => {
  const vendor = fileURLToPath(new URL('../../../dist/vendor/', import.meta.url));
  const files = readdirSync(vendor).filter((file) => file.endsWith('.js'));
  expect(files.sort()).toEqual(['plot.js', 'prom-client.js', 'runtime.js', 'valibot.js']);
  for (const file of files) {
    expect(readFileSync(join(vendor, file), 'utf8')).not.toMatch(
      /\bfrom\s*["'](?!\.|node:)|\bimport\s*["'(]/,
    );
  }
  expect(existsSync(join(vendor, 'LICENSES.txt'))).toBe(true);
  expect(readFileSync(join(vendor, 'LICENSES.txt'), 'utf8')).toMatch(
    /@observablehq\/plot .*Permission to use/s,
  );
});
