// `npm run docs [-- --check]`: writes the API reference, docs/reference, from the types and comments of the
// sources: one page for each class, with all its calls and what they throw. With --check it only compares.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Model } from './reference/model.mjs';
import { PAGES } from './reference/pages.mjs';
import { renderReference } from './reference/render.mjs';
import { root } from './setup/step.mjs';

const folder = join(root, 'docs/reference');
const shapes = PAGES.flatMap(({ type }) => type ?? []);
const files = renderReference(new Model(root, shapes));
const present = existsSync(folder) ? readdirSync(folder) : [];

if (process.argv.includes('--check')) {
  const matches = ([name, text]) =>
    present.includes(name) && readFileSync(join(folder, name), 'utf8') === text;
  const wrong = [...files].filter((file) => !matches(file)).map(([name]) => name);
  for (const name of [...wrong, ...present.filter((name) => !files.has(name))]) {
    console.log(`docs/reference/${name} does not match the sources: npm run docs`);
    process.exitCode = 1;
  }
} else {
  mkdirSync(folder, { recursive: true });
  for (const name of present) if (!files.has(name)) rmSync(join(folder, name));
  for (const [name, text] of files) writeFileSync(join(folder, name), text);
}
