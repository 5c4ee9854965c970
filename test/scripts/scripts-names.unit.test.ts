import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const { scripts } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { scripts: Record<string, string> };

// npm runs `prebuild` before `build`, whoever asks for the latter.
test('npm runs no script because of the name of another', () => {
  const names = Object.keys(scripts);
  const hooks = names.filter((name) => names.includes(name.replace(/^(pre|post)/, '')));
  expect(hooks.filter((name) => /^(pre|post)/.test(name))).toEqual([]);
});
