// Runs the server and the client of a command, each in its own process.
import { type Ended, start } from './command.js';
import { freePort } from './free-port.js';

/** The exit statuses and output of both. */
export interface Sides {
  readonly server: Ended;
  readonly client: Ended;
}

/** Runs a server and a client to their ends. `both` adds to their environments. */
export async function runPair(
  args: readonly string[],
  both: { readonly server?: NodeJS.ProcessEnv; readonly client?: NodeJS.ProcessEnv } = {},
): Promise<Sides> {
  const serverProcess = start(args, both.server);
  const clientProcess = start([...args, '127.0.0.1'], both.client);
  const [server, client] = await Promise.all([serverProcess.ended, clientProcess.ended]);
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
