// Two sides of a command, each a process of its own.
import { type Ended, start } from './command.js';
import { freePort } from './free-port.js';

/** How both sides have ended. */
export interface Sides {
  readonly server: Ended;
  readonly client: Ended;
}

/** Runs a command on both sides to the end; `both` adds to their environments. */
export async function runPair(
  args: readonly string[],
  both: { readonly server?: NodeJS.ProcessEnv; readonly client?: NodeJS.ProcessEnv } = {},
): Promise<Sides> {
  const theirs = start(args, both.server);
  const ours = start([...args, '127.0.0.1'], both.client);
  const [server, client] = await Promise.all([theirs.ended, ours.ended]);
  return { server, client };
}

/** The same, where addresses are exchanged beside the fabric, at a port of their own. */
export async function sides(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  oob = '-E',
): Promise<Sides> {
  return runPair([command, ...args, `${oob}=${await freePort()}`], { server: env, client: env });
}
