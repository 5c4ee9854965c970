// `npm run lint:native [-- --without-analyzer] [FILE ...]`: runs clang-tidy on the C++, with the checks of .clang-tidy.
// It takes minutes, so `npm run lint` does not run it. More than half of the time goes to the static analyzer, which
// --without-analyzer omits. The last line is `N passed, N failed[, N skipped]`, counted in files.
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { nodeHeadersPrefix } from './setup/native.mjs';
import { npmPackages } from './setup/npm.mjs';
import { announce, root, run, SetupError } from './setup/step.mjs';
import { onPath, systemPackages } from './setup/system.mjs';

const MAJOR = '14'; // Debian 12's, as for clang-format
const CLANG_TIDY = {
  name: 'clang-tidy',
  present: () => onPath(`clang-tidy-${MAJOR}`) || onPath('clang-tidy'),
  apt: ['clang-tidy'],
  dnf: ['clang-tools-extra'],
};

/** The command to run. Throws SetupError if the required release is not available. */
function clangTidy() {
  systemPackages([CLANG_TIDY]);
  const command = onPath(`clang-tidy-${MAJOR}`) ? `clang-tidy-${MAJOR}` : 'clang-tidy';
  const { stdout } = spawnSync(command, ['--version'], { encoding: 'utf8' });
  const found = stdout?.match(/version (\d+)/)?.[1];
  if (found !== MAJOR) throw new SetupError(`needs clang-tidy ${MAJOR}, found ${found}`);
  return command;
}

/** Writes compile_commands.json from binding.gyp. Returns its folder and its sources. */
function compilationDatabase() {
  const nodeGyp = join(root, 'node_modules/node-gyp/bin/node-gyp.js');
  const prefix = nodeHeadersPrefix();
  const headers = prefix ? [`--nodedir=${prefix}`] : [];
  const generator = ['--', '-f', 'compile_commands_json'];
  run(process.execPath, [nodeGyp, 'configure', ...headers, ...generator], { what: 'node-gyp' });
  const folder = join(root, 'build/Release');
  const entries = JSON.parse(readFileSync(join(folder, 'compile_commands.json'), 'utf8'));
  return { folder, sources: entries.map(({ file }) => file) };
}

async function lint(command, folder, file, checks) {
  const options = { cwd: root, maxBuffer: 1 << 26 };
  const args = ['--quiet', `-p=${folder}`, '--extra-arg=-Wno-error', ...checks, file];
  try {
    await promisify(execFile)(command, args, options);
    return true;
  } catch ({ stdout, stderr, message }) {
    console.log(stdout || stderr || message);
    console.log(`failed: ${relative(root, file)}: clang-tidy`);
    return false;
  }
}

async function lintAll(command, folder, files, checks) {
  const waiting = [...files];
  const outcomes = [];
  const work = async () => {
    for (let file = waiting.shift(); file; file = waiting.shift()) {
      outcomes.push(await lint(command, folder, file, checks));
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  const passed = outcomes.filter(Boolean).length;
  return { passed, failed: outcomes.length - passed };
}

try {
  const command = clangTidy();
  npmPackages();
  const { folder, sources } = compilationDatabase();
  const { values, positionals } = parseArgs({
    options: { 'without-analyzer': { type: 'boolean' } },
    allowPositionals: true,
  });
  const checks = values['without-analyzer'] ? ['--checks=-clang-analyzer-*'] : [];
  const asked = positionals.map((file) => resolve(file));
  announce('linting the C++');
  const { passed, failed } = await lintAll(
    command,
    folder,
    asked.length > 0 ? asked : sources,
    checks,
  );
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(`skipped: ${error.message}`);
  console.log('0 passed, 0 failed, 1 skipped');
}
