import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const folder = new URL('../../.github/workflows/', import.meta.url);

// A tag can be moved to other code, a commit cannot.
test.each(readdirSync(folder))('%s names each action by its commit', (file) => {
  const uses = readFileSync(new URL(file, folder), 'utf8').matchAll(/uses: (.*)/g);
  const actions = [...uses].map(([, action]) => action).filter((each) => !each?.startsWith('./'));
  for (const action of actions) expect(action).toMatch(/^[\w/-]+@[0-9a-f]{40} # v\d/);
});
