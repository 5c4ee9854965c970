// Ends this process if a call into the provider does not return. For example, shm waits forever for
// a lock that a killed process held.
import { Worker } from 'node:worker_threads';
import { HEARTBEAT_INTERVAL } from './protocol.js';
import type { Watched } from './watchdog-thread.js';

const SECONDS = 10;

/** Starts to watch the event loop of this process. `who` names the process in the message. */
export function startWatchdog(who: string): { stop(): void } {
  const beats = new SharedArrayBuffer(4);
  const counter = new Int32Array(beats);
  const line = `${who} is stuck in the provider for ${SECONDS} s, maybe because another rank has died\n`;
  const checks = (SECONDS * 1000) / HEARTBEAT_INTERVAL;
  const workerData: Watched = { beats, checks, every: HEARTBEAT_INTERVAL, line };
  const worker = new Worker(new URL('./watchdog-thread.js', import.meta.url), { workerData });
  worker.unref();
  const timer = setInterval(() => Atomics.add(counter, 0, 1), HEARTBEAT_INTERVAL / 2).unref();
  return {
    stop: () => {
      clearInterval(timer);
      worker.terminate();
    },
  };
}
