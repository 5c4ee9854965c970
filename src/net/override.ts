type AnyMethod = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Replaces a method of one object. Returns what undoes that. If somebody else has replaced it again, the method stays, so it
 * must then do what it would do without this package.
 */
export function override(
  object: object,
  name: string,
  make: (previous: AnyMethod) => AnyMethod,
): () => void {
  const methods = object as Record<string, AnyMethod>;
  const own = Object.getOwnPropertyDescriptor(object, name);
  const value = make(methods[name] as AnyMethod);
  Object.defineProperty(object, name, { value, configurable: true, writable: true });
  return () => {
    if (methods[name] !== value) return;
    delete methods[name];
    if (own) Object.defineProperty(object, name, own);
  };
}
