// Each row of docs/provider-limits.md has a source: an existing test file that names the provider, or a
// source file of libfabric with its version. The rows of one table begin with a version instead of a provider.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root, textOf } from '../support/documents.js';

const rows = textOf('docs/provider-limits.md')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()))
  .filter(([first]) => first !== 'provider' && first !== 'from');

const SOURCE = /^libfabric (\d+\.\d+\.\d+|main) `prov\/\w+\/src\/[\w/]+\.[ch]`$/;

test('there are rows', () => expect(rows.length).toBeGreaterThan(25));

test.each(rows)('%s: %s', (provider = '', ...cells) => {
  const source = cells.at(-1) ?? '';
  const [, file] = /^`(test\/[\w/-]+\.test\.ts)`$/.exec(source) ?? [];
  if (file === undefined) expect(source).toMatch(SOURCE);
  else {
    const text = readFileSync(join(root, file), 'utf8');
    const providers = /^\d/.test(provider) ? [] : provider.split(', ');
    for (const name of providers) {
      const general = /describe\.(each|for)\(|DRIVERS|PROVIDERS/.test(text);
      if (!general) expect(text, file).toContain(name.replace(/\d$/, ''));
    }
  }
});
