import type { Command } from 'commander';

/** The end of a command that has printed its help, or what is wrong with its arguments. */
class Exit extends Error {
  readonly code: number;

  constructor(code: number) {
    super();
    this.code = code;
  }
}

/** Lets a command, and those below it, throw where commander would call process.exit(), which loses errors of the output. */
export function throwExits(command: Command): void {
  command.exitOverride(({ exitCode }) => {
    throw new Exit(exitCode);
  });
  command.commands.forEach(throwExits);
}

/** Ends the process with the status of a failed command. Its output is written first, or the status is that of handleOutputErrors(). */
export function endWith(error: unknown): void {
  if (error instanceof Exit) {
    process.stdout.write('', () => setImmediate(() => process.exit(error.code)));
    return;
  }
  console.error(error instanceof Error ? error.message : error);
  process.exitCode ??= 1;
}
