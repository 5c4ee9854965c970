// Runs a command in this process, for commands that need only their arguments and files. Commands between two sides have
// processes of their own: see test/support/sides.ts.
import { runCommand } from './run-command.mjs';

export interface Answer {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Returns the output and exit status of `npx libfabric ...args`. Only one call may run at a time. */
export const call = (...args: readonly string[]): Promise<Answer> => runCommand(args);
