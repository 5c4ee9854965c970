import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Verdict } from '../shared/command.js';

// What a process gets that is asked to end, in milliseconds.
const KILL_AFTER = 2000;

/** What has become of one side of a test. */
export interface SideVerdict extends Partial<Verdict> {
  readonly passed: boolean;
  readonly offered: boolean;
  readonly detail: string;
  /** From the start of the process to its end. */
  readonly seconds: number;
}

/** One side of a test in a process of its own, which may crash or hang. */
export class TestProcess {
  readonly ended: Promise<SideVerdict>;
  readonly #stop: (reason: string) => void;
  readonly #timers: NodeJS.Timeout[] = [];
  #over = false;

  constructor(args: readonly string[]) {
    const main = process.argv[1] as string; // a test is a command of its own
    const child = spawn(process.execPath, [...process.execArgv, main, ...args, '--json'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let reason: string | undefined;
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
      return { ...verdictOf(output, reason ?? endOf(code, signal)), seconds };
    });
  }

  /** Ends it, unless it does so by itself in so many seconds. */
  endWithin(seconds: number, reason: string): void {
    if (this.#over) return;
    if (seconds === 0) this.#stop(reason);
    else this.#timers.push(setTimeout(() => this.#stop(reason), seconds * 1000));
  }
}

function endOf(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`;
}

/** The verdict that it printed, else how it ended and its last words. */
function verdictOf(output: { stdout: string; stderr: string }, end: string) {
  try {
    return JSON.parse(output.stdout) as Verdict;
  } catch {
    const words = output.stderr.trim().split('\n').at(-1);
    return { passed: false, offered: true, detail: words ? `${end}: ${words}` : end };
  }
}
