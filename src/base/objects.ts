// Questions about any object that a program gives. The operators of JavaScript throw for a proxy that was revoked.

/** Whether it is a proxy that was revoked: whatever is done with it throws. */
export function isRevoked(value: unknown): boolean {
  try {
    Array.isArray(value); // throws for nothing else
    return false;
  } catch {
    return true;
  }
}

/** Whether it is an array. */
export const isArray = ((value: unknown) =>
  !isRevoked(value) && Array.isArray(value)) as typeof Array.isArray;

/** Whether it is an instance of a class. */
export function isInstance<T>(value: unknown, of: { readonly prototype: T }): value is T {
  return !isRevoked(value) && value instanceof (of as unknown as new () => T);
}
