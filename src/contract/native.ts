// Loads the addon at its first use. native-contract.ts describes its functions.
import { leaveContextsBy } from '../base/async-context.js';
import { makeFabricError, startAtCaller } from '../base/errors.js';
import { loadAddon } from './load.js';
import type { NativeAddon } from './native-contract.js';

export type * from './handles.js';
export type * from './native-contract.js';
export type * from './native-memory.js';
export type * from './native-net.js';
export type * from './native-storage.js';
export type * from './native-transfer.js';

type Functions = Record<string, (...args: unknown[]) => unknown>;

function load(): Functions {
  const addon = loadAddon() as NativeAddon;
  const { initialize, withoutContext, engine, ...functions } = addon;
  initialize(makeFabricError);
  leaveContextsBy(withoutContext);
  const entries = Object.entries(functions as unknown as Functions);
  const guarded = entries.map(([name, call]) => [name, startingAtCaller(call)]);
  return { ...Object.fromEntries(guarded), engine };
}

// The stack of an error that C++ throws starts at the caller of the package.
function startingAtCaller(call: (...args: unknown[]) => unknown) {
  return (...args: unknown[]): unknown => {
    try {
      return call(...args);
    } catch (error) {
      throw error instanceof Error ? startAtCaller(error) : error;
    }
  };
}

let loaded: Functions | undefined;

/** The addon. It is loaded at the first use, so the program can prepare the process before. */
export const native = new Proxy({} as Functions, {
  get: (_target, name: string) => loadOnce()[name],
}) as unknown as NativeAddon;

/** All functions of the addon, by name. */
export function loadOnce(): Functions {
  loaded ??= load();
  return loaded;
}
