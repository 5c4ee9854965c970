import { native } from '../contract/native.js';
import type { Engine } from './engine.js';
import { unresponsive } from './failure.js';

const CHECK_MS = 250;

/** Settles as the promise does, or rejects if the engine's thread is stuck. */
export async function unlessStuck<T>(engine: Engine, promise: Promise<T>): Promise<T> {
  if (engine.driver !== 'thread') return promise;
  let timer: NodeJS.Timeout | undefined;
  const stuck = new Promise<never>((_, reject) => {
    let { turns } = engine.stats();
    let since = performance.now();
    timer = setInterval(() => {
      const now = performance.now();
      const before = turns;
      turns = engine.stats().turns;
      if (turns !== before || engine.asleep) since = now;
      else if (native.domainOverdue(engine.handle, now - since)) reject(unresponsive('fi_close'));
    }, CHECK_MS);
  });
  try {
    return await Promise.race([promise, stuck]);
  } finally {
    clearInterval(timer);
  }
}

/**
 * Stops the engine's thread without blocking the event loop during a long provider call. Returns
 * false if the call exceeds its time limit.
 */
export async function stop(engine: Engine): Promise<boolean> {
  for (;;) {
    const remaining = native.domainStop(engine.handle);
    if (remaining <= 0) return remaining === 0;
    await new Promise((resolve) => setTimeout(resolve, Math.min(remaining, CHECK_MS)));
  }
}
