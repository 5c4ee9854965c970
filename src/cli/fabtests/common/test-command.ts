import { execFileSync } from 'node:child_process';
import { FabricError } from '../../../base/errors.js';
import { addHelpEnd, examplesOfSides } from '../../shared/help.js';
import { chooseSettings, Refusal, type TestKind } from './choose-settings.js';
import { addTestOptions, type Flags, TestCommand } from './options.js';
import { resolveHost } from './resolve-host.js';
import type { Settings } from './settings.js';
import { Interrupted } from './waiter.js';
import { writtenArguments } from './written-arguments.js';

/** The specification of a command with two sides. */
export interface TestSpec extends TestKind {
  readonly summary: string;
  readonly description?: string;
}

/** A test that Ctrl-C can interrupt. */
export interface Interruptible {
  interrupt(): void;
}

const INTERRUPTED = 130; // the shell's convention: 128 plus SIGINT's number

/**
 * A command with fabtests' options. It runs the server without an argument, and the client with the
 * server's name. `run` receives the settings, and a signal that aborts on Ctrl-C while the server
 * waits for a client; afterwards `interruptible` handles Ctrl-C.
 */
export function testCommand(
  spec: TestSpec,
  run: (settings: Settings, control: Control) => Promise<void>,
): TestCommand {
  const command = new TestCommand(spec.command)
    .summary(spec.summary)
    .description(
      `${spec.description ?? `Measures the ${spec.summary}.`} ` +
        'It is compatible with fabtests: either side may be theirs.',
    )
    .argument('[server]', 'the server to connect to; without it this side is the server');
  addTestOptions(command);
  addHelpEnd(command, { examples: examplesOfSides(spec.command) });
  return command.action(async (host: string | undefined, flags: Flags, self: TestCommand) => {
    const written = writtenArguments(self);
    let settings: Settings;
    try {
      settings = chooseSettings(spec, flags, host, written);
    } catch (error) {
      if (error instanceof Refusal) self.error(error.message);
      throw error;
    }
    if (settings.pinCore !== undefined) pinToCores(settings.pinCore);
    const resolved = await resolveHost(settings);
    await interruptibly((control) => run(resolved, control));
  }) as TestCommand;
}

/** Routes Ctrl-C to a test. */
export class Control {
  readonly #abort = new AbortController();
  #target: Interruptible | undefined;

  /** Aborts on Ctrl-C. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Sets what Ctrl-C interrupts from now on. */
  set target(target: Interruptible) {
    this.#target = target;
    if (this.signal.aborted) target.interrupt();
  }

  interrupt(): void {
    this.#abort.abort(new Interrupted('interrupted'));
    this.#target?.interrupt();
  }
}

const isNotOffered = ({ code, syscall }: FabricError) =>
  code === 'FI_ENODATA' && syscall === 'fi_getinfo';

/** Runs a test. The first Ctrl-C ends its waits, the second ends the process. */
export async function interruptibly(run: (control: Control) => Promise<void>): Promise<void> {
  const control = new Control();
  const interrupt = () => {
    control.interrupt();
    process.exitCode = INTERRUPTED;
    process.off('SIGINT', interrupt); // the second Ctrl-C ends the process
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  try {
    await run(control);
  } catch (error) {
    if (control.signal.aborted) return;
    // The exit code of fabtests, by which scripts tell that the provider does not offer what the test needs.
    if (error instanceof FabricError && isNotOffered(error)) process.exitCode = error.errno;
    throw error;
  } finally {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
  }
}

/** Pins this process to cores such as `'0,2-4'`: --pin-core. */
export function pinToCores(cores: string): void {
  try {
    execFileSync('taskset', ['-a', '-p', '-c', cores, String(process.pid)], { stdio: 'pipe' });
  } catch (error) {
    const { code, stderr } = error as NodeJS.ErrnoException & { stderr?: Buffer };
    const reason = code === 'ENOENT' ? 'it needs taskset (util-linux)' : String(stderr).trim();
    throw new Error(`--pin-core ${cores}: ${reason}`);
  }
}
