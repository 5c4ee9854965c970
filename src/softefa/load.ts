import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { invalidState } from '../base/errors.js';
import { addonFolder, binaryNotFound, loadPreload } from '../contract/load.js';
import { namespaceOf } from './namespace.js';
import { type SoftefaOptions, softefaVariables } from './options.js';

/**
 * The path of the software device's library.
 *
 * @throws Error ERR_ADDON_NOT_FOUND if it is not installed.
 */
export function softefaLibrary(): string {
  const file = join(addonFolder(), 'libsoftefa.so');
  if (existsSync(file)) return file;
  throw binaryNotFound('softefa', `${file} does not exist`);
}

/**
 * Creates software EFA devices in this process, for the efa provider. Call it once, before the
 * first use of libfabric.
 *
 * @throws Error ERR_INVALID_STATE if libfabric or softefa is already loaded, ERR_ADDON_NOT_FOUND if
 * softefa is not installed.
 * @throws TypeError ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE, RangeError ERR_OUT_OF_RANGE for
 * options.
 */
export function loadSoftefa(options?: SoftefaOptions): void {
  const variables = softefaVariables(options);
  const library = softefaLibrary();
  if (process.env.LD_PRELOAD?.includes('libsoftefa.so')) {
    throw invalidState('LD_PRELOAD has already loaded softefa in this process');
  }
  const failure = loadPreload().loadGlobal(library, ...Object.entries(variables).flat());
  if (failure !== undefined) throw invalidState(failure);
}

/**
 * The environment that creates software EFA devices in another process, for child_process.
 *
 * @throws Error ERR_ADDON_NOT_FOUND if softefa is not installed.
 * @throws TypeError ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE, RangeError ERR_OUT_OF_RANGE for
 * options.
 */
export function softefaEnvironment(options?: SoftefaOptions): Record<string, string> {
  const variables = softefaVariables(options);
  const before = process.env.LD_PRELOAD?.split(/[ :]+/).filter(
    (file) => file !== '' && !file.endsWith('libsoftefa.so'),
  );
  // softefa comes last, because a sanitizer must be first.
  return { LD_PRELOAD: [...(before ?? []), softefaLibrary()].join(' '), ...variables };
}

/**
 * Removes a namespace of software EFA devices. Otherwise its counters remain for a day after the
 * last use.
 *
 * @throws Error ERR_INVALID_STATE while processes use the namespace.
 */
export function removeSoftefa(options?: Pick<SoftefaOptions, 'namespace' | 'directory'>): void {
  const [directory, name] = namespaceOf(options);
  const users = loadPreload().removeNamespace(softefaLibrary(), directory, name);
  if (users === 0) return;
  throw invalidState(`${users} processes use the namespace ${name} of softefa`);
}
