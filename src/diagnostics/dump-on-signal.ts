import { appendFileSync, writeSync } from 'node:fs';
import { checkOptions, checkString, namesOf } from '../base/checks.js';
import { dumpState } from './dump.js';

/** The signal and the destination of dumpOnSignal(). */
export interface DumpOnSignalOptions {
  /** If omitted, `'SIGUSR2'`. */
  readonly signal?: NodeJS.Signals;
  /** A file to append to. If omitted, stderr. */
  readonly file?: string;
}

const NAMES = namesOf<DumpOnSignalOptions>({ signal: 1, file: 1 });
const STDERR = 2;

/**
 * Writes dumpState() as a line of JSON whenever the process receives a signal, to inspect a hanging
 * process from outside: `kill -USR2 PID`. The event loop must be running. Node delivers signals to
 * the main thread only.
 *
 * `LIBFABRIC_DUMP_ON_SIGUSR2=1` in the environment does the same without a change to the program.
 *
 * @returns a function that removes the signal handler.
 * @throws TypeError ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE for options.
 */
export function dumpOnSignal(options?: DumpOnSignalOptions): () => void {
  const { signal = 'SIGUSR2', file } = checkOptions('options', options, NAMES);
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
export function dumpIfRequested(): void {
  if (process.env.LIBFABRIC_DUMP_ON_SIGUSR2 === '1') dumpOnSignal();
}
