import { existsSync } from 'node:fs';
import { type SoftefaOptions, softefaVariables } from './options.js';

/** Where a namespace's folder is, and its name: as the device finds them. */
export function placeOf(
  options: Pick<SoftefaOptions, 'namespace' | 'directory'> | undefined,
): [directory: string, name: string] {
  const { SOFTEFA_NAMESPACE, SOFTEFA_DIRECTORY } = { ...process.env, ...softefaVariables(options) };
  const directory = SOFTEFA_DIRECTORY || (existsSync('/dev/shm') ? '/dev/shm' : '/tmp');
  return [directory, SOFTEFA_NAMESPACE || 'default'];
}
