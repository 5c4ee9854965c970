// `npm run suite -- lint [--without-analyzer] [FILE ...]`: runs clang-tidy on the C++, with the checks of .clang-tidy.
// It takes minutes, so `npm run gates` does not run it. More than half of the time goes to the static analyzer, which
// --without-analyzer omits. Without it, most of the time goes to headers, so it lints several files of a folder as one
// translation unit, and one by one if that reports anything. It counts
// files.
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { readOptions } from '../options.mjs';
import { nodeHeadersPrefix } from '../setup/native.mjs';
import { npmPackages } from '../setup/npm.mjs';
import { announce, inParallel, root, run } from '../setup/step.mjs';
import { onPath, systemPackages } from '../setup/system.mjs';
import { Skipped } from '../tally.mjs';

const MAJOR = '14'; // Debian 12's, as for clang-format
const TOGETHER = 12; // files of one translation unit
const CLANG_TIDY = {
  name: 'clang-tidy',
  present: () => onPath(`clang-tidy-${MAJOR}`) || onPath('clang-tidy'),
  apt: ['clang-tidy'],
  dnf: ['clang-tools-extra'],
};

/** The command to run. Throws Skipped if the required release is not available. */
async function clangTidy() {
  await systemPackages([CLANG_TIDY]).catch(({ message }) => {
    throw new Skipped(message);
  });
  const command = onPath(`clang-tidy-${MAJOR}`) ? `clang-tidy-${MAJOR}` : 'clang-tidy';
  const { stdout } = spawnSync(command, ['--version'], { encoding: 'utf8' });
  const found = stdout?.match(/version (\d+)/)?.[1];
  if (found !== MAJOR) throw new Skipped(`needs clang-tidy ${MAJOR}, found ${found}`);
  return command;
}

/** Writes compile_commands.json from binding.gyp. Returns its folder and its entries. */
async function compilationDatabase() {
  const nodeGyp = join(root, 'node_modules/node-gyp/bin/node-gyp.js');
  const prefix = nodeHeadersPrefix();
  const headers = prefix ? [`--nodedir=${prefix}`] : [];
  const generator = ['--', '-f', 'compile_commands_json'];
  await run(process.execPath, [nodeGyp, 'configure', ...headers, ...generator], {
    what: 'node-gyp',
    env: { LIBFABRIC_UNITS: 'files' },
  });
  const folder = join(root, 'build/Release');
  const entries = JSON.parse(readFileSync(join(folder, 'compile_commands.json'), 'utf8'));
  return { folder, entries };
}

/** Writes translation units that include the files of a folder, and their database. Returns `{ folder, units }`. */
function unitsOf(entries) {
  const folder = join(root, 'build/lint');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const units = [];
  for (const entry of entries) {
    const last = units.at(-1);
    const fits = last && dirname(last.files[0]) === dirname(entry.file);
    if (fits && last.files.length < TOGETHER) last.files.push(entry.file);
    else units.push({ file: join(folder, `${units.length}.cc`), files: [entry.file], like: entry });
  }
  const include = (file) => `#include "${file}"  // NOLINT(bugprone-suspicious-include)\n`;
  const database = units.map(({ file, files, like: { directory, command } }) => {
    writeFileSync(file, files.map(include).join(''));
    return { directory, file, command: command.replace(files[0], file) };
  });
  writeFileSync(join(folder, 'compile_commands.json'), JSON.stringify(database));
  return { folder, units };
}

/** Runs clang-tidy on a file. Returns its messages; undefined if it has none. */
async function messages(command, folder, file, checks) {
  const options = { cwd: root, maxBuffer: 1 << 26 };
  const args = ['--quiet', `-p=${folder}`, '--extra-arg=-Wno-error', ...checks, file];
  try {
    await promisify(execFile)(command, args, options);
    return undefined;
  } catch ({ stdout, stderr, message }) {
    return stdout || stderr || message;
  }
}

export default async function lint(args) {
  const { values, positionals } = readOptions({ 'without-analyzer': {} }, args, true);
  const command = await clangTidy();
  await npmPackages();
  const { folder, entries } = await compilationDatabase();
  const checks = values['without-analyzer'] ? ['--checks=-clang-analyzer-*'] : [];
  const asked = positionals.map((file) => resolve(file));
  const files = asked.length > 0 ? asked : entries.map(({ file }) => file);
  announce('linting the C++');
  const alone = new Set(files);
  if (values['without-analyzer'] && asked.length === 0) {
    const together = unitsOf(entries);
    await inParallel(together.units, async ({ file, files }) => {
      if (await messages(command, together.folder, file, checks)) return;
      for (const file of files) alone.delete(file);
    });
  }
  let failed = 0;
  await inParallel(alone, async (file) => {
    const text = await messages(command, folder, file, checks);
    if (text === undefined) return;
    failed += 1;
    console.log(`${text}\nfailed: ${relative(root, file)}: clang-tidy`);
  });
  return { passed: files.length - failed, failed };
}
