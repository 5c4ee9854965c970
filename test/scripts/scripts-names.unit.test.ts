import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const { scripts } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { scripts: Record<string, string> };

// npm always runs a script `prebuild` before a script `build`.
test('no script is a pre- or post-hook of another by its name', () => {
  const names = Object.keys(scripts);
  const hooks = names.filter((name) => names.includes(name.replace(/^(pre|post)/, '')));
  expect(hooks.filter((name) => /^(pre|post)/.test(name))).toEqual([]);
});
