import { appendFileSync, writeSync } from 'node:fs';
import { checkOptions, checkString } from './checks.js';
import { dumpState } from './dump.js';

/** Where dumpOnSignal() writes, and on which signal. */
export interface DumpOnSignalOptions {
  /** `'SIGUSR2'` when left out. */
  readonly signal?: NodeJS.Signals;
  /** A file to append to; stderr when left out. */
  readonly file?: string;
}

const STDERR = 2;

/**
 * Writes dumpState() as a line of JSON whenever the process is sent a signal, so that one that hangs
 * can be looked at from outside: `kill -USR2 PID`. The event loop must be alive. Signals reach the main
 * thread only, as any of Node's.
 *
 * `LIBFABRIC_DUMP_ON_SIGUSR2=1` in the environment does the same without a change to the program.
 *
 * @returns what ends it.
 */
export function dumpOnSignal(options?: DumpOnSignalOptions): () => void {
  const { signal = 'SIGUSR2', file } = checkOptions('options', options);
  checkString('options.signal', signal);
  if (file !== undefined) checkString('options.file', file);
  const write = () => {
    const line = `${JSON.stringify(dumpState())}\n`;
    if (file === undefined) writeSync(STDERR, line);
    else appendFileSync(file, line);
  };
  process.on(signal, write);
  return () => {
    process.off(signal, write);
  };
}

/** @internal */
export function dumpWhereAskedFor(): void {
  if (process.env.LIBFABRIC_DUMP_ON_SIGUSR2 === '1') dumpOnSignal();
}
