import { errnoByCode } from '../error-codes.js';
import { FabricError } from '../errors.js';
import { native } from '../native.js';
import type { Engine } from './engine.js';

const LOOK_MS = 250;

/** The engine's thread is in a call of the provider that does not return. */
export function unresponsive(syscall: string): FabricError {
  const detail = 'the provider does not return from a call';
  const hint = 'close the domain, which leaks it, and open another one, or end the process';
  return new FabricError(errnoByCode.FI_ETIMEDOUT, syscall, { detail, hint }, unresponsive);
}

/** What a promise settles with; rejects where the engine's thread is stuck. */
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
    }, LOOK_MS);
  });
  try {
    return await Promise.race([promise, stuck]);
  } finally {
    clearInterval(timer);
  }
}

/**
 * Has the engine's thread stop, without a wait of the event loop's for a call of the provider that
 * takes long. False: it is overdue.
 */
export async function stop(engine: Engine): Promise<boolean> {
  for (;;) {
    const left = native.domainStop(engine.handle);
    if (left <= 0) return left === 0;
    await new Promise((resolve) => setTimeout(resolve, Math.min(left, LOOK_MS)));
  }
}
