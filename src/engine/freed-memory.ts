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
