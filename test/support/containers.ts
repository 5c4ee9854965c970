// Containers that share /dev/shm: each has its own PID namespace and /proc, so their processes have the same pids.
import { spawnSync } from 'node:child_process';
import { beforeEach } from 'vitest';

/** A command that runs another one in a container of its own. */
export const CONTAINER = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child', '--'];

/** Skips all tests of the file if this machine does not permit a command that runs another one, such as CONTAINER. */
export function skipWithout([command, ...args]: readonly string[], what: string): void {
  const forbidden = spawnSync(command!, [...args, 'true']).status !== 0;
  beforeEach((context) => context.skip(forbidden, `no permission to ${what}, or no ${command}`));
}
