import { loadOnce } from '../contract/native.js';

let failure: Error | null | undefined;

/** Why the native code cannot be loaded here: no libfabric, no binary for this system. Undefined if it is loaded. */
export function addonFailure(): Error | undefined {
  if (failure === undefined) {
    try {
      loadOnce();
      failure = null;
    } catch (error) {
      failure = error as Error;
    }
  }
  return failure ?? undefined;
}
