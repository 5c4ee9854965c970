import { existsSync } from 'node:fs';
import { type SoftefaOptions, softefaVariables } from './options.js';

/** The folder and the name of a namespace, as the device determines them. */
export function namespaceOf(
  options: Pick<SoftefaOptions, 'namespace' | 'directory'> | undefined,
): [directory: string, name: string] {
  const { SOFTEFA_NAMESPACE, SOFTEFA_DIRECTORY } = { ...process.env, ...softefaVariables(options) };
  const directory = SOFTEFA_DIRECTORY || (existsSync('/dev/shm') ? '/dev/shm' : '/tmp');
  return [directory, SOFTEFA_NAMESPACE || 'default'];
}
