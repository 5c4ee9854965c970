// The promises that resolve when the memory of an operation is free again, by the operation's
// promise, its error or its abort reason.
const ends = new WeakMap<object, Set<Promise<unknown>>>();

/** Lets the holder of `key` wait for `end`. */
export function endsWith(key: unknown, end: Promise<unknown>): void {
  if ((typeof key !== 'object' && typeof key !== 'function') || key === null) return;
  const known = ends.get(key);
  if (known !== undefined) known.add(end);
  else ends.set(key, new Set([end]));
  const forget = () => {
    ends.get(key)?.delete(end);
  };
  end.then(forget, forget);
}

/** Resolves when all promises of `key` have settled. Undefined if the key has none. */
export const endOf = (key: object): Promise<void> | undefined =>
  hasEnd(key) ? ended(key) : undefined;

/** Whether the key has, or had, such a promise. */
export const hasEnd = (key: object): boolean => ends.has(key);

/** Resolves when all promises of `key` have settled. */
export async function ended(key: unknown): Promise<void> {
  if ((typeof key !== 'object' && typeof key !== 'function') || key === null) return;
  for (let ending = ends.get(key); ending !== undefined && ending.size > 0; ) {
    await Promise.allSettled(ending);
  }
}
