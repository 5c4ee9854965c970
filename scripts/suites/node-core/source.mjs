// The tests of Node.js in the source package of Debian trixie, in build-node-core.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { announce, root, run } from '../../setup/step.mjs';
import { downloadSource } from '../../stack/source-package.mjs';

const RELEASE = 'trixie'; // Node.js 20
const PARTS = ['test/parallel', 'test/common', 'test/fixtures', 'src/node_version.h'];

const folder = join(root, 'build-node-core');

/** The version of the tests, the folder of the repository that they are in, and the names of the files. */
export async function fetchTests() {
  const made = join(folder, 'made');
  const source = join(folder, 'source');
  if (!existsSync(made)) {
    announce(`downloading the source package of Node.js, Debian ${RELEASE}, to ${folder}`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(source, { recursive: true });
    const archive = await downloadSource(RELEASE, 'nodejs', folder);
    const matching = ['--wildcards', '--no-wildcards-match-slash', '--anchored'];
    const wanted = PARTS.map((part) => `*/${part}`);
    await run('tar', [
      '-xf',
      archive,
      '-C',
      source,
      '--strip-components=1',
      ...matching,
      ...wanted,
    ]);
    // Otherwise the files would be modules, as those of this package are.
    writeFileSync(join(source, 'package.json'), '{ "type": "commonjs" }');
    writeFileSync(made, versionIn(source));
  }
  const version = readFileSync(made, 'utf8');
  const files = readdirSync(join(source, 'test/parallel'));
  return { version, folder, source, files: files.filter((file) => /\.m?js$/.test(file)).sort() };
}

function versionIn(source) {
  const text = readFileSync(join(source, 'src/node_version.h'), 'utf8');
  const numberOf = (name) => text.match(new RegExp(`define NODE_${name}_VERSION (\\d+)`))[1];
  return `v${['MAJOR', 'MINOR', 'PATCH'].map(numberOf).join('.')}`;
}
