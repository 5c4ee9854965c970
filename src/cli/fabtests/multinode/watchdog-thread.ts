// The thread of a watchdog. It counts its looks and not the time: a process that was stopped as a
// whole goes on as a whole.
import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';

/** What the watching thread gets. */
export interface Watched {
  /** A counter that the main thread keeps counting. */
  readonly beats: SharedArrayBuffer;
  /** Looks at it without any news after which the main thread counts as stuck. */
  readonly looks: number;
  /** Milliseconds between them. */
  readonly every: number;
  /** What to tell the user then. */
  readonly line: string;
}

const { beats, looks, every, line } = workerData as Watched;
const counter = new Int32Array(beats);
let last = -1;
let silent = 0;

setInterval(() => {
  const now = Atomics.load(counter, 0);
  silent = now === last ? silent + 1 : 0;
  last = now;
  if (silent < looks) return;
  writeSync(2, line);
  process.kill(process.pid, 'SIGKILL'); // exit handlers would be those of the thread that is stuck
}, every);
