// Runs a command of the command line in this process, as src/cli/main.ts does in a process of its own.
import { fileURLToPath } from 'node:url';
import { commandLine } from '../../dist/cli/command-line.js';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** Thrown in place of process.exit(). */
class Ended {
  constructor(status) {
    this.status = status;
  }
}

const withSubcommands = (command) => [command, ...command.commands.flatMap(withSubcommands)];

/** Calls `write` with the output of this process, instead of printing it. Returns a function that restores printing. */
function capture(stream, write) {
  const original = stream.write;
  stream.write = (text, ...others) => {
    write(String(text));
    others.find((each) => typeof each === 'function')?.();
    return true;
  };
  return () => {
    stream.write = original;
  };
}

/**
 * Runs `npx libfabric ...args`. Only one command may run at a time.
 *
 * @param {readonly string[]} args
 * @returns {Promise<{ status: number, stdout: string, stderr: string }>} the outcome of its process
 */
export async function runCommand(args) {
  let stdout = '';
  let stderr = '';
  const toStdout = (text) => {
    stdout += text;
  };
  const toStderr = (text) => {
    stderr += text;
  };
  const program = await commandLine(args[0]);
  for (const command of withSubcommands(program)) {
    const end = ({ exitCode }) => {
      throw new Ended(exitCode);
    };
    command.exitOverride(end).configureOutput({ writeOut: toStdout, writeErr: toStderr });
  }
  const releases = [capture(process.stdout, toStdout), capture(process.stderr, toStderr)];
  const { log, error } = console; // vitest's own do not write to the streams of the process
  console.log = (text) => toStdout(`${text}\n`);
  console.error = (text) => toStderr(`${text}\n`);
  const argv = process.argv;
  const before = process.exitCode;
  process.argv = [process.execPath, main, ...args];
  process.exitCode = undefined;
  try {
    await program.parseAsync(process.argv);
    return { status: Number(process.exitCode ?? 0), stdout, stderr };
  } catch (thrown) {
    if (thrown instanceof Ended) return { status: thrown.status, stdout, stderr };
    const text = thrown instanceof Error ? thrown.message : thrown;
    return { status: Number(process.exitCode ?? 1), stdout, stderr: `${stderr}${text}\n` };
  } finally {
    process.argv = argv;
    process.exitCode = before;
    for (const release of releases) release();
    Object.assign(console, { log, error });
  }
}
