import { execFileSync } from 'node:child_process';
import { chooseSettings, Refusal, type TestKind } from './choose-settings.js';
import { addTestOptions, type Flags, TestCommand } from './options.js';
import type { Settings } from './settings.js';
import { Interrupted } from './waiter.js';

/** A command of two sides, as it is offered. */
export interface TestSpec extends TestKind {
  readonly summary: string;
  readonly description?: string;
}

/** What a test may do when it is interrupted: Ctrl-C. */
export interface Interruptible {
  interrupt(): void;
}

const INTERRUPTED = 130; // as a shell has it: 128 and SIGINT's number

/**
 * A command with fabtests' options, whose sides are a server (without an argument) and a client (with
 * the server's name). `run` gets the settings, and a signal that aborts on Ctrl-C while it is still
 * waiting for a client; afterwards `interruptible` takes over.
 */
export function testCommand(
  spec: TestSpec,
  run: (settings: Settings, control: Control) => Promise<void>,
): TestCommand {
  const command = new TestCommand(spec.command)
    .summary(spec.summary)
    .description(
      `${spec.description ?? `Measures the ${spec.summary}.`}\n` +
        'Speaks with fabtests: either side may be theirs.',
    )
    .argument('[server]', 'the server to connect to; without it this side is the server');
  addTestOptions(command);
  command.addHelpText(
    'after',
    `
Examples:
  npx libfabric ${spec.command} -p efa            on one host
  npx libfabric ${spec.command} -p efa HOST       on another, with the name of the first`,
  );
  return command.action(async (host: string | undefined, flags: Flags, self: TestCommand) => {
    const argv = (self.parent as unknown as { rawArgs: string[] }).rawArgs.slice(3);
    let settings: Settings;
    try {
      settings = chooseSettings(spec, flags, host, argv);
    } catch (error) {
      if (error instanceof Refusal) self.error(error.message);
      throw error;
    }
    if (settings.pinCore !== undefined) pinToCores(settings.pinCore);
    await interruptibly((control) => run(settings, control));
  }) as TestCommand;
}

/** How Ctrl-C reaches a test. */
export class Control {
  readonly #abort = new AbortController();
  #target: Interruptible | undefined;

  /** Aborts on Ctrl-C. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** From now on Ctrl-C interrupts this. */
  set target(target: Interruptible) {
    this.#target = target;
    if (this.signal.aborted) target.interrupt();
  }

  interrupt(): void {
    this.#abort.abort(new Interrupted('interrupted'));
    this.#target?.interrupt();
  }
}

/** Runs a test whose waiting Ctrl-C ends; the second one ends the process. */
export async function interruptibly(run: (control: Control) => Promise<void>): Promise<void> {
  const control = new Control();
  const interrupt = () => {
    control.interrupt();
    process.exitCode = INTERRUPTED;
    process.off('SIGINT', interrupt); // the second one ends the process
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  try {
    await run(control);
  } catch (error) {
    if (!control.signal.aborted) throw error;
  } finally {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
  }
}

/** Lets this process run on some cores only, `'0,2-4'`: --pin-core. */
export function pinToCores(cores: string): void {
  try {
    execFileSync('taskset', ['-a', '-p', '-c', cores, String(process.pid)], { stdio: 'pipe' });
  } catch (error) {
    const { code, stderr } = error as NodeJS.ErrnoException & { stderr?: Buffer };
    const reason = code === 'ENOENT' ? 'it needs taskset (util-linux)' : String(stderr).trim();
    throw new Error(`--pin-core ${cores}: ${reason}`);
  }
}
