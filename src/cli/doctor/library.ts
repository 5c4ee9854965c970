import { FabricError } from '../../base/errors.js';
import type { Param } from '../../contract/info-types.js';
import { getInfo } from '../../info/info.js';
import { getParams, libraryPath, version } from '../../info/library.js';
import { runInProcess } from './subprocess.js';

/** The libfabric of this process. */
export interface LoadedLibrary {
  /** `'1.17.0'` */
  readonly version: string;
  readonly path: string | null;
  /** Environment variables that it and its providers read. */
  readonly params: readonly Param[];
  /** Domains on which efa offers reliable endpoints: `'rdmap0s6-rdm'`. */
  readonly efaDomains: readonly string[];
}

/** The library, or why it cannot be loaded. */
export type Library =
  | { readonly loaded: LoadedLibrary; readonly error: null }
  | { readonly loaded: null; readonly error: Error };

/**
 * Loads libfabric after another process has done so and survived: settings may make a provider
 * abort.
 */
export async function loadLibrarySafely(): Promise<Library> {
  const { failure } = await runInProcess('load-program.js');
  return failure === null ? loadLibrary() : { loaded: null, error: new Error(failure) };
}

/** Loads libfabric, which cannot be undone, and queries it. */
export function loadLibrary(): Library {
  try {
    const loaded = {
      version: version().string,
      path: libraryPath(),
      efaDomains: efaDomains(),
      params: getParams(), // providers register their parameters on the first query
    };
    return { loaded, error: null };
  } catch (error) {
    // Without the addon, or on another system, libfabric cannot be queried.
    const here =
      error instanceof Error && 'code' in error && /^ERR_LIBFABRIC/.test(`${error.code}`);
    if (!here && !FabricError.is(error)) throw error;
    return { loaded: null, error };
  }
}

/** The domains on which efa offers reliable endpoints. */
export function efaDomains(): string[] {
  const entries = getInfo({
    fabricAttr: { provName: 'efa' },
    epAttr: { type: 'FI_EP_RDM' },
    caps: ['FI_MSG'],
  });
  const names = entries.flatMap(({ domainAttr }) => domainAttr.name ?? []);
  return [...new Set(names)];
}

/** Whether a version such as `'2.1.0amzn5.0'` is at least another one. */
export function atLeast(version: string, least: string): boolean {
  const numbers = (text: string) => text.split('.').map((part) => Number.parseInt(part, 10) || 0);
  const [a, b] = [numbers(version), numbers(least)];
  for (const [i, wanted] of b.entries()) {
    const has = a[i] ?? 0;
    if (has !== wanted) return has > wanted;
  }
  return true;
}
