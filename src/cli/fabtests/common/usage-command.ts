import type { ErrorOptions } from 'commander';
import { TestCommand } from './options.js';

/** The exit code of wrong usage, where 1 reports a failure. */
export const USAGE = 2;

/** A command whose wrong usage has its own exit code. */
export class UsageCommand extends TestCommand {
  override error(message: string, options?: ErrorOptions): never {
    return super.error(message, { ...options, exitCode: USAGE });
  }
}
