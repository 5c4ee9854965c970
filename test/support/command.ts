import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** Runs a program to its end. */
export function run(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): SpawnSyncReturns<string> {
  return spawnSync(program, args, { encoding: 'utf8', timeout: 20_000, maxBuffer: 1 << 24, env });
}

/** `npx libfabric ...args` */
export function libfabric(args: readonly string[], env?: NodeJS.ProcessEnv) {
  return run(process.execPath, [main, ...args], env);
}
