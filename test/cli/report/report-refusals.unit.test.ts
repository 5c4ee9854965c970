import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ReportFolder } from '../../support/report.js';
import { benchmark, matrix, rowOf, transferRow } from '../../support/results.js';

const folder = new ReportFolder();
afterAll(() => folder.remove());

test('report does not overwrite a result', async () => {
  const file = folder.write('mine.json', benchmark());
  const { status, stderr } = await folder.report('-o', `./${file}`, file);
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: './mine.json: is a result, and would be overwritten\n',
  });
  expect(JSON.parse(readFileSync(join(folder.path, file), 'utf8')).kind).toBe('benchmark');
});

const { rows: _, ...withoutRows } = benchmark();

test.each([
  ['broken JSON', '{"format":', /not JSON: /],
  [
    'JSON with other content',
    { hello: 1 },
    "not a result of a benchmark: format is not 'libfabric-result'",
  ],
  ['JSON that is a list', [benchmark()], 'not a result of a benchmark'],
  [
    'a later version',
    { ...benchmark(), version: 2 },
    'version 2 of the format; this package reads 1',
  ],
  ['an unknown kind', { ...benchmark(), kind: 'poem' }, /kind: .*"poem"/],
  ['a missing field', withoutRows, /rows: .*undefined/],
  [
    'a field of another type',
    benchmark({ rows: [rowOf(1, 1), { ...rowOf(2, 1), seconds: 'x' as never }] }),
    /rows\[1\]\.seconds: .*number.*"x"/,
  ],
  ['a negative figure', benchmark({ rows: [rowOf(-1, 1)] }), /rows\[0\]\.size: .*>=0.*-1/],
  [
    'a part of latency',
    benchmark({ rows: [{ ...rowOf(1, 1), latency: { p50: 1 } as never }] }),
    /rows\[0\]\.latency\.p99: /,
  ],
  [
    'a rail without a value for each interval',
    benchmark({
      rows: [
        {
          ...transferRow(64),
          railTimeline: { milliseconds: [20, 40], megabytesPerSecond: [[1, 2], [1]] },
        },
      ],
    }),
    'rows[0].railTimeline: every rail must have a value for each of milliseconds',
  ],
  ['no date', benchmark({ startedAt: 'yesterday' }), /startedAt: Invalid date/],
  [
    'a matrix that is not square',
    matrix([[null, 1], [1]]),
    'values must have a row and a column for each of ranks',
  ],
  [
    'text in another format',
    'bandwidth was fine\n',
    'neither a JSON result nor the output of fabtests',
  ],
  [
    'a figure of fabtests that is not a number',
    'bytes iters total time MB/sec usec/xfer Mxfers/sec\n64 1k 64k 0.00s inf 0.00 inf\n',
    'line 2: MB/sec is not a number',
  ],
])('%s is refused with the file and the reason', async (_, content, reason) => {
  const file = folder.write('bad.json', content);
  const { status, stderr, stdout } = await folder.report(
    '-o',
    '-',
    folder.write('good.json', benchmark()),
    file,
  );
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(/^bad\.json: .*\n$/);
  if (typeof reason === 'string') expect(stderr).toContain(reason);
  else expect(stderr).toMatch(reason);
});

test('a missing file is reported', async () => {
  expect((await folder.report('nowhere.json')).stderr).toBe('nowhere.json: no such file\n');
});

test('error messages have no control characters', async () => {
  const { stderr } = await folder.report(
    folder.write('control.json', { ...benchmark(), kind: '\u001b[31m\u0007' }),
  );
  expect(stderr).toMatch(/^control\.json: kind: [^\p{Cc}]*\n$/u);
});
