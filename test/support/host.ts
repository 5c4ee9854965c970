// Processes that run one command after another. Most of the time of a command goes to the start of its process: a ping-pong
// of two processes takes 1.3 s of CPU time, one of two hosts 0.1 s.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Answer } from './call.js';
import { afterEveryFile } from './every-test.js';
import type { Ended } from './output.js';

const program = fileURLToPath(new URL('../programs/command-host.mjs', import.meta.url));

/** The hosts of this file by their environment. Both sides of a command may have the same. */
const hosts = new Map<string, ChildProcess>();
afterEveryFile(() => {
  for (const host of hosts.values()) host.kill('SIGKILL');
  hosts.clear();
});

/** Runs `npx libfabric ...args` in the host of a side with this environment. */
export async function runInHost(
  side: 'server' | 'client',
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Ended> {
  const key = JSON.stringify([side, Object.entries(env).sort()]);
  const host =
    hosts.get(key) ?? fork(program, { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  hosts.set(key, host);
  host.send(args);
  const abort = new AbortController();
  const answered = once(host, 'message', abort).then(([answer]) => {
    const { status, ...output } = answer as Answer;
    return { code: status, signal: null, ...output };
  });
  const ended = once(host, 'exit', abort).then(([code, signal]) => {
    hosts.delete(key);
    return { code, signal, stdout: '', stderr: '' };
  });
  const outcome = await Promise.race([answered, ended]);
  abort.abort();
  await Promise.allSettled([answered, ended]);
  return outcome;
}
