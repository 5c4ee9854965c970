// The addon: loaded when it is first used. Its functions are in native-contract.ts.
import { makeFabricError, startAtCaller } from '../base/errors.js';
import { loadAddon } from './load.js';
import type { NativeAddon } from './native-contract.js';

export type * from './native-contract.js';

type Functions = Record<string, (...args: unknown[]) => unknown>;

function load(): Functions {
  const addon = loadAddon() as NativeAddon;
  addon.initialize(makeFabricError);
  const { engine, ...functions } = addon;
  const entries = Object.entries(functions as unknown as Functions);
  const guarded = entries.map(([name, call]) => [name, startingAtCaller(call)]);
  return { ...Object.fromEntries(guarded), engine };
}

// Misuse that C++ finds is reported at the line of the caller, as that which JavaScript finds.
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

/** The addon, loaded when it is first used: until then the program may prepare the process. */
export const native = new Proxy({} as Functions, {
  get: (_target, name: string) => loadOnce()[name],
}) as unknown as NativeAddon;

/** All functions of the addon, by name. */
export function loadOnce(): Functions {
  loaded ??= load();
  return loaded;
}
