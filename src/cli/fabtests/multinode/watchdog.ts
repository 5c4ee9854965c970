// Ends this process when a call into the provider does not come back. shm, for one, waits for ever
// for a lock that a killed process held.
import { Worker } from 'node:worker_threads';
import { PULSE } from './protocol.js';
import type { Watched } from './watchdog-thread.js';

const SECONDS = 10;

/** Starts to watch the event loop of this process; `who` is what the user knows it by. */
export function startWatchdog(who: string): { stop(): void } {
  const beats = new SharedArrayBuffer(4);
  const counter = new Int32Array(beats);
  const line = `${who} is stuck in the provider for ${SECONDS} s, maybe since another rank has died\n`;
  const looks = (SECONDS * 1000) / PULSE;
  const workerData: Watched = { beats, looks, every: PULSE, line };
  const worker = new Worker(new URL('./watchdog-thread.js', import.meta.url), { workerData });
  worker.unref();
  const timer = setInterval(() => Atomics.add(counter, 0, 1), PULSE / 2).unref();
  return {
    stop: () => {
      clearInterval(timer);
      worker.terminate();
    },
  };
}
