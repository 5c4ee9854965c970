// The last line of every command that tests: `N passed, N failed[, N skipped]`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { WRONG_USAGE } from './options.mjs';
import { root, SetupError } from './setup/step.mjs';

/** A requirement of a test that this machine lacks. */
export class Skipped extends SetupError {}

const COUNTS = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/;

const lineOf = ({ passed, failed, skipped }) =>
  `${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`;

/** The sum of tallies, which may lack `skipped`. */
export function sum(...tallies) {
  const all = { passed: 0, failed: 0, skipped: 0 };
  for (const tally of tallies) for (const name of Object.keys(all)) all[name] += tally[name] ?? 0;
  return all;
}

/** Runs the work of a command, which returns a tally. Prints the last line and sets the exit status. */
export async function conclude(work) {
  const tally = await work().catch((error) => {
    if (error instanceof Skipped) {
      console.error(`skipped: ${error.message}`);
      return { passed: 0, failed: 0, skipped: 1 };
    }
    console.error(error instanceof SetupError ? error.message : error);
    return { passed: 0, failed: 1 };
  });
  console.log(lineOf(tally));
  process.exitCode = tally.failed === 0 ? 0 : 1;
}

/**
 * Runs a command whose last line is a tally, and prints its other output. Returns the tally. A command that fails
 * without a failed test counts as one.
 */
export async function tallyOf(command, args, env = {}) {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['inherit', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  process.on('SIGINT', () => {}); // a terminal also sends it to the command
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  let counts = null;
  for await (const line of createInterface({ input: child.stdout })) {
    if (counts) console.log(counts[0]);
    counts = line.match(COUNTS);
    if (!counts) console.log(line);
  }
  const [status, signal] = await ended;
  const [passed = 0, failed = 0, skipped = 0] = (counts ?? [])
    .slice(1)
    .map((count) => Number(count ?? 0));
  if (status === 0 && counts) return { passed, failed, skipped };
  const wrongUsage = status === WRONG_USAGE && !counts; // the command has printed the reason
  if (failed === 0 && !wrongUsage)
    console.log(`failed: ${command} ${args[0]}: ${signal ?? `exit status ${status}`}`);
  return { passed, failed: Math.max(failed, 1), skipped };
}
