// The parts that the steps of the setup share: the repository's root, functions that run commands without output and
// several steps at a time, and fingerprints that show whether a step is up to date.
import { spawn } from 'node:child_process';
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
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** A failure that is printed for the user without a stack. */
export class SetupError extends Error {}

/** Prints the start of a step to stderr, because stdout belongs to the command that follows. */
export function announce(title) {
  console.error(`${title} ...`);
}

/** Runs a command in the root. Throws a SetupError with its output if it fails. */
export async function run(command, args, { env, hint, what = [command, ...args].join(' ') } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'libfabric-setup-'));
  const file = join(folder, 'output');
  const output = openSync(file, 'w');
  try {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', output, output],
    });
    const reason = await reasonOfFailure(child);
    if (reason === undefined) return;
    const lines = [readFileSync(file, 'utf8').trimEnd(), `${what} failed: ${reason}`, hint];
    throw new SetupError(lines.filter(Boolean).join('\n'));
  } finally {
    closeSync(output);
    rmSync(folder, { recursive: true, force: true });
  }
}

function reasonOfFailure(child) {
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('exit', (status, signal) => {
      if (status === 0) resolve(undefined);
      else resolve(signal ? `killed by ${signal}` : `exit status ${status}`);
    });
  });
}

/** Waits for all steps, also if one fails. Then throws the first error. */
export async function together(...steps) {
  const results = await Promise.allSettled(steps);
  const failed = results.find(({ status }) => status === 'rejected');
  if (failed) throw failed.reason;
}

/** Calls `work` with each item, with as many at once as there are cores. */
export async function inParallel(items, work) {
  const waiting = [...items];
  const next = async () => {
    for (let item = waiting.shift(); item; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, next));
}

/** The sorted files at and below the given paths, which are relative to the root. */
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

/** The stamp that a step wrote when it last ran, or {}. */
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
