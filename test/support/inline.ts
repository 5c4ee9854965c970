// Programs that are as short as a test.
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { HANG_MS } from './limits.js';

/** Runs a module, given as text, in a process of its own to its end, or to the deadline in ms. */
export function runInline(
  source: string,
  env: NodeJS.ProcessEnv = process.env,
  deadline = HANG_MS,
): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, ['--input-type=module', '-e', source], {
    encoding: 'utf8',
    env,
    timeout: deadline,
    killSignal: 'SIGKILL',
  });
}
