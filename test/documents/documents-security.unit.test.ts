// Each line of the threat model in SECURITY.md names an existing test.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root, textOf } from '../support/documents.js';

const rows = textOf('SECURITY.md')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (---|.*\| shown by)/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()) as [string, string, string]);

test('there are lines', () => expect(rows.length).toBeGreaterThan(20));

test.each(rows)('%s%s: %s', (_, _what, source) => {
  const [, file] = /^`(test\/[\w/-]+\.(?:(?:unit\.|slow\.)?test\.ts|cc))`$/.exec(source) ?? [];
  const text = readFileSync(join(root, file ?? source), 'utf8');
  expect(text).toMatch(/\btest\b.*\(|\bTEST\(|LLVMFuzzerTestOneInput|FUZZ/);
});

test('the tests of fuzzers are those that npm run suite -- fuzz runs', () => {
  const fuzzers = rows.map(([, , source]) => source).filter((source) => source.includes('/fuzz/'));
  expect(fuzzers.length).toBeGreaterThan(2);
  for (const source of fuzzers) expect(source).toMatch(/^`test\/fuzz\/[\w-]+\.cc`$/);
});
