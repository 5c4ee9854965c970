// Runs the server and the client of a command. In `npm test` each runs in a process that has run other commands before; in the
// tier `all` in a process of its own.
import { tier } from './cases.js';
import { type Ended, start } from './command.js';
import { freePort } from './free-port.js';
import { runInHost } from './host.js';

/** The exit statuses and output of both. */
export interface Sides {
  readonly server: Ended;
  readonly client: Ended;
}

const runSide = (side: 'server' | 'client', args: readonly string[], env: NodeJS.ProcessEnv) =>
  tier === 'all' ? start(args, env).ended : runInHost(side, args, { ...process.env, ...env });

/** Runs a server and a client to their ends. `both` adds to their environments. */
export async function runPair(
  args: readonly string[],
  both: { readonly server?: NodeJS.ProcessEnv; readonly client?: NodeJS.ProcessEnv } = {},
): Promise<Sides> {
  const [server, client] = await Promise.all([
    runSide('server', args, both.server ?? {}),
    runSide('client', [...args, '127.0.0.1'], both.client ?? {}),
  ]);
  return { server, client };
}

/** Runs a server and a client that exchange addresses out of band, at a port of their own. */
export async function sides(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  oob = '-E',
): Promise<Sides> {
  return runPair([command, ...args, `${oob}=${await freePort()}`], { server: env, client: env });
}
