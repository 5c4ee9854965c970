import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { invalidState } from '../errors.js';
import { addonFolder, loadPreload } from '../load.js';
import { type SoftefaOptions, softefaVariables } from './options.js';
import { placeOf } from './place.js';

/** The file of the software device. */
export function softefaLibrary(): string {
  const file = join(addonFolder(), 'libsoftefa.so');
  if (existsSync(file)) return file;
  const error = new Error(
    `softefa is not there: ${file}. The package brings it for Linux x64 and arm64; elsewhere, build it with npm run build in a clone of the repository.`,
  );
  throw Object.assign(error, { code: 'ERR_ADDON_NOT_FOUND' });
}

/**
 * Gives this process software EFA devices, for the efa provider to find. Must be called before
 * anything of libfabric is used, in this process once: ERR_INVALID_STATE afterwards.
 */
export function loadSoftefa(options?: SoftefaOptions): void {
  const variables = softefaVariables(options);
  const library = softefaLibrary();
  if (process.env.LD_PRELOAD?.includes('libsoftefa.so')) {
    throw invalidState('softefa is in this process already, by LD_PRELOAD');
  }
  const failure = loadPreload().loadGlobal(library, ...Object.entries(variables).flat());
  if (failure !== undefined) throw invalidState(failure);
}

/** The environment that gives another process software EFA devices: for child_process. */
export function softefaEnvironment(options?: SoftefaOptions): Record<string, string> {
  const variables = softefaVariables(options);
  const before = process.env.LD_PRELOAD?.split(/[ :]+/).filter(
    (file) => file !== '' && !file.endsWith('libsoftefa.so'),
  );
  // Last: a sanitizer has to be the first.
  return { LD_PRELOAD: [...(before ?? []), softefaLibrary()].join(' '), ...variables };
}

/**
 * Removes a namespace of software EFA devices, whose counters otherwise stay for a day after its last
 * use. ERR_INVALID_STATE while processes use it.
 */
export function removeSoftefa(options?: Pick<SoftefaOptions, 'namespace' | 'directory'>): void {
  const [directory, name] = placeOf(options);
  const users = loadPreload().removeNamespace(softefaLibrary(), directory, name);
  if (users === 0) return;
  throw invalidState(`${users} processes use the namespace ${name} of softefa`);
}
