// The thread of a watchdog. It counts its checks instead of the time, because a stopped process
// stops this thread, too.
import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';

/** The parameters of the thread. */
export interface Watched {
  /** A counter that the main thread keeps counting. */
  readonly beats: SharedArrayBuffer;
  /** Checks without a change of the counter after which the main thread counts as stuck. */
  readonly checks: number;
  /** Milliseconds between checks. */
  readonly every: number;
  /** The message to print if the main thread is stuck. */
  readonly line: string;
}

const { beats, checks, every, line } = workerData as Watched;
const counter = new Int32Array(beats);
let last = -1;
let silent = 0;

setInterval(() => {
  const now = Atomics.load(counter, 0);
  silent = now === last ? silent + 1 : 0;
  last = now;
  if (silent < checks) return;
  writeSync(2, line);
  process.kill(process.pid, 'SIGKILL'); // exit handlers would run on the stuck thread
}, every);
