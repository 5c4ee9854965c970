import { HANG_MS } from './limits.js';

interface Driven {
  until<V>(promise: Promise<V>): Promise<V>;
}

/** Awaits a promise with a deadline. Turns the engines of domains with the manual driver meanwhile. */
export async function settle<V>(promise: Promise<V>, ...domains: readonly Driven[]): Promise<V> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    const late = () => reject(new Error(`not settled within ${HANG_MS} ms`));
    timer = setTimeout(late, HANG_MS);
  });
  const outcome = Promise.race([promise, deadline]).finally(() => clearTimeout(timer));
  await Promise.allSettled([outcome, ...domains.map((domain) => domain.until(outcome))]);
  return outcome;
}

/** Whether a promise has not settled after a turn of the event loop. */
export async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = {};
  await new Promise(setImmediate);
  return (await Promise.race([promise, Promise.resolve(pending)])) === pending;
}
