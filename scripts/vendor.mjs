// Bundles src/vendor/*.js with their imports into dist/vendor, so that installing the package does not install
// them, and collects the licences of the bundled packages.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';
import { filesBelow, root } from './setup/step.mjs';

/** Licences of packages that may be bundled into this one, which has the MIT licence. */
const LICENCES = new Set(['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT']);

const entries = filesBelow('src/vendor').filter((file) => file.endsWith('.js'));
const bundle = await rolldown({ input: entries, cwd: root, platform: 'node' });
const { output } = await bundle.write({
  dir: join(root, 'dist/vendor'),
  chunkFileNames: 'runtime.js', // the runtime of bundled CommonJS modules
  minify: true,
});
await bundle.close();

const folders = output.flatMap(({ moduleIds = [] }) => moduleIds.map(packageFolder));
const notices = [...new Set(folders.filter(Boolean))].sort().map(notice);
writeFileSync(join(root, 'dist/vendor/LICENSES.txt'), notices.join(`\n${'-'.repeat(72)}\n\n`));

/** The folder of the npm package that a file belongs to; undefined for a file of this package. */
function packageFolder(file) {
  for (let folder = dirname(file); folder !== root; folder = dirname(folder)) {
    if (folder === dirname(folder)) return undefined; // a module of the bundler itself
    if (existsSync(join(folder, 'package.json')) && packageOf(folder).version) return folder;
  }
  return undefined;
}

function packageOf(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

function notice(folder) {
  const { name, version, license } = packageOf(folder);
  if (!LICENCES.has(license)) throw new Error(`${name} ${version} has the licence ${license}`);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} ${version} (${license}) has no licence file`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8')}`;
}
