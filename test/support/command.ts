// Runs the command line of this build, and other programs.
import { type ChildProcess, type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEveryTest, beforeEveryTest } from './every-test.js';
import { HANG_MS } from './limits.js';
import { type Ended, outputOf } from './output.js';

export type { Ended };

export const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** Runs a program to its end. It is killed at the deadline in ms. */
export function run(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  deadline = HANG_MS,
): SpawnSyncReturns<string> {
  return spawnSync(program, args, {
    encoding: 'utf8',
    env,
    timeout: deadline,
    killSignal: 'SIGKILL',
    maxBuffer: 1 << 24,
  });
}

/** Runs the text of a module in a process of its own. */
export function runInline(source: string, env?: NodeJS.ProcessEnv, deadline?: number) {
  return run(process.execPath, ['--input-type=module', '-e', source], env, deadline);
}

/** `npx libfabric ...args` */
export function libfabric(args: readonly string[], env?: NodeJS.ProcessEnv) {
  return run(process.execPath, [main, ...args], env);
}

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

// The processes of a test are killed when it ends, but not those that were started before all tests.
const running = new Set<ChildProcess>();
beforeEveryTest(() => running.clear());
afterEveryTest(() => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts `npx libfabric ...args`; `env` adds to the environment. */
export function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Started {
  const child = spawn(process.execPath, [main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  running.add(child);
  return { child, ended: outputOf(child) };
}
