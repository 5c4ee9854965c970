import { fstatSync } from 'node:fs';

/** Where progress is shown. */
export interface Terminal {
  readonly columns: number;
  write(text: string): unknown;
}

const INTERVAL = 1000; // milliseconds between updates of the times
const CLEAR = '\r\x1b[K';

/**
 * The progress of long work: a line on a terminal with the current step, the time so far and an
 * estimate of the time that is left. Nothing is shown elsewhere.
 */
export class Progress {
  readonly #weights: readonly number[];
  readonly #terminal: Terminal | undefined;
  readonly #now: () => number;
  readonly #start: number;
  #timer: NodeJS.Timeout | undefined;
  /** The number of the current step, from 1. */
  #step = 0;
  #what = '';
  #stepStart = 0;

  /**
   * @param weights the relative duration of each step.
   * @param terminal undefined shows nothing.
   */
  constructor(
    weights: readonly number[],
    terminal: Terminal | undefined = ownTerminal(),
    now: () => number = () => performance.now(),
  ) {
    this.#weights = weights;
    this.#terminal = weights.length > 1 ? terminal : undefined;
    this.#now = now;
    this.#start = now();
  }

  /** The next step starts. */
  next(what: string): void {
    this.#step++;
    this.#what = what;
    this.#stepStart = this.#now();
    if (this.#terminal === undefined) return;
    this.#draw();
    this.#timer ??= setInterval(() => this.#draw(), INTERVAL).unref();
  }

  /** Removes the line, so that other output can follow. The next update shows it again. */
  clear(): void {
    this.#terminal?.write(CLEAR);
  }

  /** Removes the line for good. */
  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.clear();
  }

  #draw(): void {
    if (this.#terminal === undefined) return;
    const left = this.#left();
    const line = [
      `${this.#step}/${this.#weights.length} ${this.#what}`,
      durationText(this.#now() - this.#start),
      ...(left >= 500 ? [`about ${durationText(left)} left`] : []),
    ].join(', ');
    this.#terminal.write(CLEAR + line.slice(0, this.#terminal.columns - 1));
  }

  /** Milliseconds. NaN during the first step. */
  #left(): number {
    const sum = (weights: readonly number[]) => weights.reduce((all, weight) => all + weight, 0);
    const done = sum(this.#weights.slice(0, this.#step - 1));
    const all = ((this.#stepStart - this.#start) * sum(this.#weights)) / done;
    return done === 0 ? Number.NaN : all - (this.#now() - this.#start);
  }
}

/** `'8 s'`, `'2 min 5 s'` */
export function durationText(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** The terminal of standard error. Undefined if there is none or standard output is a pipe. */
export function ownTerminal(): Terminal | undefined {
  const { stderr, env } = process;
  if (!stderr.isTTY || env.TERM === 'dumb' || isPipe(1)) return undefined;
  return { columns: stderr.columns || 80, write: (text) => stderr.write(text) };
}

// The reader of a pipe may print to the same terminal: tee(1).
function isPipe(fd: number): boolean {
  try {
    return fstatSync(fd).isFIFO();
  } catch {
    return true; // closed
  }
}
