// docs/promises.md: every promise names tests that exist.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { root } from '../support/documents.js';

const text = readFileSync(join(root, 'docs/promises.md'), 'utf8').replace(/\n {4}/g, ' ');
const promises = text.split('\n- ').slice(1);

describe.each(promises)('%s', (promise) => {
  const tests = [...promise.matchAll(/^ {2}- `(test\/\S+\.test\.ts)`: (.*)$/gm)].map(
    ([, file = '', title = '']) => ({ file, title }),
  );

  test('has a test', () => expect(tests).not.toEqual([]));

  test.each(tests)('$file: $title', ({ file, title }) => {
    expect(existsSync(join(root, file)), file).toBe(true);
    expect(readFileSync(join(root, file), 'utf8')).toContain(title);
  });
});

test('the document has promises of all parts', () => expect(promises.length).toBeGreaterThan(15));
