import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import type { BenchmarkResult } from '../../../src/cli/shared/result.js';
import { ReportFolder, rowsOf, sectionOf, textOf } from '../../support/report.js';
import { benchmark, fullRow, matrix, rowOf } from '../../support/results.js';

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

describe('a run is named', () => {
  const namesOf = async (...runs: Partial<BenchmarkResult>[]) => {
    const page = await folder.page(...runs.map((run) => benchmark(run)));
    return rowsOf(sectionOf(page, 'Runs'))
      .slice(1)
      .map(([name]) => name);
  };
  const { device, software } = benchmark();
  const on = (provider: string) => ({ device: { ...device, provider } });
  const at = (time: string) => ({ startedAt: `2026-03-04T${time}:00.000Z` });

  test('by what it is, if it is the only one', async () => {
    expect(await namesOf({})).toEqual(['rma-bw write efa']);
  });

  test('by the one field that distinguishes it', async () => {
    const times = [at('05:06'), at('05:07')] as const;
    expect(await namesOf({ ...on('efa'), ...times[0] }, { ...on('tcp'), ...times[1] })).toEqual([
      ...['efa', 'tcp'],
    ]);
    expect(await namesOf(on('shm'), on('tcp;ofi_rxm'))).toEqual(['shm', 'tcp']);
    expect(await namesOf({ operation: 'read' }, { operation: 'write' })).toEqual(['read', 'write']);
    const older = { software: { ...software, libfabric: '1.17.0' } };
    expect(await namesOf({}, older)).toEqual(['libfabric 2.1.0', 'libfabric 1.17.0']);
    const emulated = { device: { ...device, domain: 'softefa_0-rdm', software: true } };
    expect(await namesOf({}, emulated)).toEqual(['efa', 'efa in software']);
  });

  test('by its time, and by what else differs', async () => {
    const [first, second] = [at('05:06'), at('05:07')];
    expect(await namesOf(first, second)).toEqual(['2026-03-04 05:06', '2026-03-04 05:07']);
    const runs = [on('efa'), on('tcp'), on('efa')].map((run, i) => ({ ...run, ...at(`05:0${i}`) }));
    expect(await namesOf(...runs)).toEqual([
      'efa 2026-03-04 05:00',
      'tcp 2026-03-04 05:01',
      'efa 2026-03-04 05:02',
    ]);
  });

  test('by its label, and no two names are equal', async () => {
    expect(await namesOf({}, {}, { label: 'mine' })).toEqual(['0.json', '1.json', 'mine']);
    expect(await namesOf({ label: 'a' }, { label: 'a' })).toEqual(['a', 'a (2)']);
  });
});

test('of ping-pongs the latency comes first', async () => {
  const rows = SIZES.map((size) => rowOf(size, 2, { transfersPerIteration: 2 }));
  const page = await folder.page(benchmark({ command: 'rdm-pingpong', rows }));
  const section = sectionOf(page, 'Time per transfer and bandwidth');
  const titles = [...(section ?? '').matchAll(/<figcaption>(.*?)<\/figcaption>/g)];
  expect(titles.map(([, title]) => title)).toEqual(['Time per transfer', 'Bandwidth']);
  expect(rowsOf(section)).toContainEqual(['64', '2.00', '32.00']);
  const [head, row] = rowsOf(sectionOf(page, 'Runs'));
  expect(head?.slice(3)).toEqual(['shortest µs', 'at bytes', 'highest MB/s', 'at bytes']);
  expect(row?.slice(3)).toEqual(['2.00', '64', '524,288.00', '1m']);
});

test('a page of many runs folds its figures and the charts of single runs', async () => {
  const runs = Array.from({ length: 12 }, (_, i) =>
    benchmark({ label: `run ${i}`, rows: SIZES.map((size) => fullRow(size, i + 1)) }),
  );
  const page = await folder.page(...runs);
  expect(page.match(/<details open>/g)).toBeNull();
  const charts = sectionOf(page, 'Percentiles of the time per transfer') ?? '';
  expect(charts.match(/<figure/g)).toHaveLength(12);
  expect(charts.split('<summary>6 more</summary>')[0]?.match(/<figure/g)).toHaveLength(6);
  const figures = rowsOf(sectionOf(page, THROUGHPUT));
  const tables = figures.flatMap(([first, ...names]) =>
    first === 'bytes' && names[0]?.startsWith('run') ? [names] : [],
  );
  expect(tables).toEqual([0, 4, 8].map((from) => [0, 1, 2, 3].map((i) => `run ${from + i}`)));
  expect(figures.filter(([first]) => first === 'geometric mean')).toHaveLength(3);
  expect(sectionOf(page, 'Counters of the device')?.match(/<details>/g)).toHaveLength(1 + 12);
  const device = { ...benchmark().device, software: true };
  const emulated = await folder.page(...runs.map((run) => ({ ...run, device })));
  expect(textOf(sectionOf(emulated, 'Warnings') ?? '')).toContain(
    'not that of hardware. run 0, run 1, run 2, run 3 and 8 more',
  );
});

test('counters are folded, and open in print', async () => {
  const counters = { tx_bytes: 4096 };
  const page = await folder.page(benchmark({ rows: [rowOf(64, 1, { counters })] }));
  expect(sectionOf(page, 'Counters of the device')).toMatch(/<details><summary>/);
  expect(page).toMatch(/@media print \{[\s\S]*details::details-content \{ display: block/);
});

test('only a device in software is named one', async () => {
  const { device } = benchmark();
  const shm = { ...device, provider: 'shm', domain: 'shm' };
  const page = await folder.page(benchmark({ device: shm, rows: [rowOf(64, 1)] }));
  expect(textOf(page)).not.toMatch(/software device|in software|hardware/);
  const emulated = { ...device, domain: 'softefa_0-rdm', software: true };
  const other = await folder.page(benchmark({ device: emulated, rows: [rowOf(64, 1)] }));
  expect(rowsOf(sectionOf(other, 'Environment'))).toContainEqual(['software device', 'yes']);
});

test('the first column of a table stays in place when it scrolls', async () => {
  const page = await folder.page(benchmark({ rows: [rowOf(64, 1)] }));
  expect(page).toMatch(/tr > :first-child \{ position: sticky; left: 0;/);
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
