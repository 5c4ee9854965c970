import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { QUIET } from '../../../shared/quiet.js';
import type { SideVerdict, Verdict } from '../shared/verdict.js';

// Milliseconds between SIGTERM and SIGKILL.
const KILL_AFTER = 2000;

/** Why a process is ended. */
export interface Why {
  readonly detail: string;
  /** Whether the provider supports the test, as far as it is known. Default: true. */
  readonly offered?: boolean;
}

/** One side of a test in a separate process, because it may crash or hang. */
export class TestProcess {
  readonly ended: Promise<SideVerdict>;
  readonly #stop: (why: Why) => void;
  readonly #timers: NodeJS.Timeout[] = [];
  #over = false;

  constructor(args: readonly string[]) {
    const main = process.argv[1] as string; // each test is a command
    const child = spawn(process.execPath, [...process.execArgv, main, ...args, '--json'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, [QUIET]: '1' },
    });
    let reason: Why | undefined;
    this.#stop = (why) => {
      reason ??= why;
      child.kill('SIGTERM');
      this.#timers.push(setTimeout(() => child.kill('SIGKILL'), KILL_AFTER));
    };
    const output = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        output[stream] += text;
      });
    }
    const start = performance.now();
    this.ended = once(child, 'close').then(([code, signal]) => {
      this.#over = true;
      for (const timer of this.#timers) clearTimeout(timer);
      const seconds = (performance.now() - start) / 1000;
      return { ...verdictOf(output, reason ?? { detail: endOf(code, signal) }), seconds };
    });
  }

  /** Kills the process if it does not end within so many seconds. */
  endWithin(seconds: number, why: Why): void {
    if (this.#over) return;
    if (seconds === 0) this.#stop(why);
    else this.#timers.push(setTimeout(() => this.#stop(why), seconds * 1000));
  }
}

function endOf(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`;
}

/**
 * The verdict that the process printed. If there is none: why it ended, and the last line of its
 * output.
 */
function verdictOf(output: { stdout: string; stderr: string }, { detail, offered = true }: Why) {
  try {
    return JSON.parse(output.stdout) as Verdict;
  } catch {
    const lastLine = output.stderr.trim().split('\n').at(-1);
    return { passed: false, offered, detail: lastLine ? `${detail}: ${lastLine}` : detail };
  }
}
