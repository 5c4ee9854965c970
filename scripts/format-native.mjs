// Formats the C++ in place; with --check, only reports differences. If clang-format is missing, or has
// another version whose layout differs slightly, prints that and does nothing.
import { spawnSync } from 'node:child_process';
import { filesBelow, root } from './setup/step.mjs';

const MAJOR = '14'; // Debian 12's

const majorOf = (program) =>
  spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout?.match(/version (\d+)/)?.[1];
const NAMES = [`clang-format-${MAJOR}`, 'clang-format'];
const program = NAMES.find((name) => majorOf(name) === MAJOR);
if (program) {
  const mode = process.argv.includes('--check') ? ['--dry-run', '--Werror'] : ['-i'];
  const files = filesBelow('native', 'bench', 'test').filter((file) => /\.(cc|h)$/.test(file));
  const { status } = spawnSync(program, [...mode, ...files], {
    cwd: root,
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
} else {
  console.log(`skipped: needs clang-format ${MAJOR}, found ${majorOf('clang-format') ?? 'none'}`);
}
