// Runs a command in this process, for commands that need only their arguments and files. A command that uses
// providers, signals or other processes needs a process of its own: see test/support/command.ts.

import type { Command, CommanderError } from 'commander';
import { vi } from 'vitest';
import { commandLine } from '../../dist/cli/command-line.js';

export interface Answer {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Thrown where the command would end its process. */
class Ended {
  constructor(readonly status: number) {}
}

function end({ exitCode }: CommanderError): never {
  throw new Ended(exitCode);
}

const withSubcommands = (command: Command): Command[] => [
  command,
  ...command.commands.flatMap(withSubcommands),
];

/** Returns the output and exit status of `npx libfabric ...args`. Only one call may run at a time. */
export async function call(...args: readonly string[]): Promise<Answer> {
  let stdout = '';
  let stderr = '';
  const toStdout = (text: unknown) => {
    stdout += text;
    return true;
  };
  const toStderr = (text: unknown) => {
    stderr += text;
    return true;
  };
  const program = await commandLine(args[0]);
  for (const command of withSubcommands(program)) {
    command.exitOverride(end).configureOutput({ writeOut: toStdout, writeErr: toStderr });
  }
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation(toStdout),
    vi.spyOn(process.stderr, 'write').mockImplementation(toStderr),
    vi.spyOn(console, 'log').mockImplementation((text) => void toStdout(`${text}\n`)),
    vi.spyOn(console, 'error').mockImplementation((text) => void toStderr(`${text}\n`)),
  ];
  const before = process.exitCode;
  process.exitCode = undefined;
  try {
    await program.parseAsync(args, { from: 'user' });
    return { status: Number(process.exitCode ?? 0), stdout, stderr };
  } catch (error) {
    if (error instanceof Ended) return { status: error.status, stdout, stderr };
    const { message } = error as Error; // src/cli/main.ts prints it
    return { status: Number(process.exitCode ?? 1), stdout, stderr: `${stderr}${message}\n` };
  } finally {
    process.exitCode = before;
    for (const spy of spies) spy.mockRestore();
  }
}
