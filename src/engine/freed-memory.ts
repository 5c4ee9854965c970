import { withoutContext } from '../base/async-context.js';
import { native } from '../contract/native.js';

// Endpoints that close within this time cost one call, and the next one that opens may use the memory again.
const DELAY = 1000; // ms
// While malloc_trim(3) handles an arena, the threads that use it wait. It takes 100 ms with 800 MB in pieces of 8 KiB.
const MAX_SHARE = 0.01;

let isPlanned = false;
let delay = DELAY;

/**
 * Returns the memory of closed endpoints to the system, soon. A provider frees up to 30 MB with an endpoint, but glibc
 * keeps them for the thread that has allocated them: 400 MB after 50 engines.
 */
export function returnFreedMemory(): void {
  if (isPlanned) return;
  isPlanned = true;
  withoutContext(() => setTimeout(trim, delay).unref());
}

async function trim(): Promise<void> {
  delay = Math.max(DELAY, (await native.heapTrim()) / MAX_SHARE);
  isPlanned = false;
}

const WATCHED_EVERY = 10_000; // ms
const WORTH = 4 * 1024 * 1024; // bytes

let watchers = 0;
let watching: NodeJS.Timeout | undefined;
/** The most external memory since the last time that it went back to the system, in bytes. */
let most = 0;

/**
 * Returns the memory of buffers to the system after V8 has freed them. glibc keeps what is below a piece that is still in use:
 * a server that had 200 clients with 16 MiB of buffers in the end kept 250 MiB. Returns what ends that.
 */
export function watchFreedMemory(): () => void {
  watchers += 1;
  watching ??= withoutContext(() => setInterval(look, WATCHED_EVERY).unref());
  return () => {
    watchers -= 1;
    if (watchers > 0) return;
    clearInterval(watching);
    watching = undefined;
  };
}

function look(): void {
  const { external } = process.memoryUsage();
  if (most - external < WORTH) {
    most = Math.max(most, external);
    return;
  }
  most = external;
  returnFreedMemory();
}
