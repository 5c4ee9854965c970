// Bundles src/vendor/*.js with what they import into dist/vendor, so that who installs the package
// installs none of it, and gathers the licences of what is inside.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';
import { filesBelow, root } from './setup/step.mjs';

const entries = filesBelow('src/vendor').filter((file) => file.endsWith('.js'));
const bundle = await rolldown({ input: entries, cwd: root, platform: 'node' });
const { output } = await bundle.write({
  dir: join(root, 'dist/vendor'),
  chunkFileNames: 'runtime.js', // what bundled CommonJS needs
  minify: true,
});
await bundle.close();

const folders = output.flatMap(({ moduleIds = [] }) => moduleIds.map(packageFolder));
const notices = [...new Set(folders.filter(Boolean))].sort().map(notice);
writeFileSync(join(root, 'dist/vendor/LICENSES.txt'), notices.join(`\n${'-'.repeat(72)}\n\n`));

/** The folder of the npm package that a file belongs to; none for a file of this one. */
function packageFolder(file) {
  for (let folder = dirname(file); folder !== root; folder = dirname(folder)) {
    if (folder === dirname(folder)) return undefined; // a module of the bundler's own
    if (existsSync(join(folder, 'package.json')) && packageOf(folder).version) return folder;
  }
  return undefined;
}

function packageOf(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

function notice(folder) {
  const { name, version, license } = packageOf(folder);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} ${version} (${license}) has no licence file`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8')}`;
}
