// Programs that are given as text.
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { HANG_MS } from './limits.js';

/** Runs a module in a process of its own. The process is killed at the deadline in ms. */
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
