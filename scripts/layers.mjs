// Checks that imports and includes go downwards: a file may use the files of its own layer and of the layers below, and
// layers below native/js/ do not use node-addon-api. It also checks that CONTRIBUTING.md shows the folders of the layers,
// and every folder of the repository's root.
// Prints the violations.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import ts from 'typescript';
import { filesBelow, root } from './setup/step.mjs';

/** From the lowest to the highest: folders, and files beside them. Types count as imports too. */
const LAYERS = [
  'src/vendor/',
  'src/base/',
  'src/contract/',
  'src/info/',
  'src/engine/',
  'src/memory/',
  'src/address-vector.ts',
  'src/counter.ts',
  'src/immediates.ts',
  'src/completion-queue.ts',
  'src/endpoint/',
  'src/efa/',
  ['src/domain.ts', 'src/domain-options.ts'],
  'src/fabric.ts',
  'src/open.ts',
  'src/diagnostics/',
  'src/index.ts',
  'src/softefa/',
  'src/verbs/',
  'src/accelerator/',
  'src/cuda/',
  'src/neuron/',
  'src/transfer/',
  'src/http/',
  'src/directory/',
  'src/net/',
  'src/objects/',
  'src/cli/',

  'native/util/',
  'native/providers/',
  'native/engine/',
  'native/objects/',
  'native/transfer/',
  'native/net/',
  'native/storage/',
  'native/js/',
  'native/preload/',
  'native/verbs/',
  'native/accelerator/',
  'native/cuda/',
  'native/neuron/',
  'native/softefa/',
];

const layerOf = (file) =>
  LAYERS.findIndex((layer) =>
    [layer].flat().some((path) => file === path || (path.endsWith('/') && file.startsWith(path))),
  );

/** The relative paths that a file imports or includes. */
function used(file, text) {
  if (/\.(h|cc)$/.test(file))
    return [...text.matchAll(/^#include "([^"]+)"/gm)].map(([, path]) => path);
  const { importedFiles } = ts.preProcessFile(text, true, true);
  return importedFiles.map(({ fileName }) => fileName).filter((path) => path.startsWith('.'));
}

function violationsOf(file) {
  const layer = layerOf(file);
  if (layer < 0) return [`${file} has no layer: add it to scripts/layers.mjs`];
  const text = readFileSync(join(root, file), 'utf8');
  const upward = used(file, text)
    .map((path) => normalize(join(dirname(file), path)).replace(/\.js$/, '.ts'))
    .filter((target) => layerOf(target) > layer)
    .map((target) => `${file} uses ${target}, which is in a higher layer`);
  const usesNode = layer < LAYERS.indexOf('native/js/') && /^#include <napi.h>/m.test(text);
  return usesNode ? [...upward, `${file} uses <napi.h>, which native/js/ does`] : upward;
}

const contributing = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');

/** CONTRIBUTING.md shows the folders of the root, except hidden ones. */
function rootProblems() {
  const { stdout } = spawnSync('git', ['ls-tree', '-d', '--name-only', 'HEAD'], {
    cwd: root,
    encoding: 'utf8',
  });
  const folders = (stdout ?? '').split('\n').filter((name) => /^[^.]/.test(name));
  const isHidden = (name) => !new RegExp(`^${name}/ `, 'm').test(contributing);
  return folders.filter(isHidden).map((name) => `CONTRIBUTING.md does not show ${name}/`);
}

/** CONTRIBUTING.md shows the same folders in the same order. */
function treeProblems() {
  const shown = [...contributing.matchAll(/^((?:src|native)\/[a-z]+\/) /gm)].map(
    ([, folder]) => folder,
  );
  const folders = LAYERS.flat().filter((layer) => layer.endsWith('/'));
  if (shown.join() === folders.join()) return [];
  return [`CONTRIBUTING.md shows other folders, or in another order, than ${folders.join(' ')}`];
}

const files = filesBelow('src', 'native').filter((file) => /\.(ts|js|h|cc)$/.test(file));
const problems = [...files.flatMap(violationsOf), ...treeProblems(), ...rootProblems()];
for (const problem of problems) console.log(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
