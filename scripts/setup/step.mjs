// What every step of the setup shares: the repository's root, running a command quietly, and
// fingerprints that tell whether a step has anything to do.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** A failure that is told to the user as it is, without a stack. */
export class SetupError extends Error {}

/** Says that a step begins. On stderr: stdout belongs to the command that follows. */
export function announce(title) {
  console.error(`${title} ...`);
}

/** Runs a command in the root, its output hidden unless it fails. */
export function run(command, args, { env, hint, what = [command, ...args].join(' ') } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'libfabric-setup-'));
  const file = join(folder, 'output');
  const output = openSync(file, 'w');
  try {
    const { status, signal, error } = spawnSync(command, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', output, output],
    });
    if (status === 0) return;
    const reason = error?.message ?? (signal ? `killed by ${signal}` : `exit status ${status}`);
    const lines = [readFileSync(file, 'utf8').trimEnd(), `${what} failed: ${reason}`, hint];
    throw new SetupError(lines.filter(Boolean).join('\n'));
  } finally {
    closeSync(output);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The files at and below the given paths (relative to the root), sorted. */
export function filesBelow(...paths) {
  const walk = (path) => {
    const entries = readdirSync(join(root, path), { withFileTypes: true });
    return entries.flatMap((entry) => {
      const child = `${path}/${entry.name}`;
      return entry.isDirectory() ? walk(child) : [child];
    });
  };
  return paths.flatMap(walk).sort();
}

/** A digest of the names and contents of files. */
export function digest(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

const stampFile = (step) => join(root, 'build', `${step}.stamp.json`);

/** What a step noted when it was last done, or {}. */
export function readStamp(step) {
  try {
    return JSON.parse(readFileSync(stampFile(step), 'utf8'));
  } catch {
    return {};
  }
}

export function writeStamp(step, stamp) {
  mkdirSync(join(root, 'build'), { recursive: true });
  writeFileSync(stampFile(step), `${JSON.stringify(stamp, null, 2)}\n`);
}
