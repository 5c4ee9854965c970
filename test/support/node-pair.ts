// Both sides of a command, each on a node of the software device.
import { softefaEnvironment } from 'libfabric/softefa';
import { start } from './command.js';
import { freePort } from './free-port.js';

/** Runs the server (side 0) and the client (side 1) of a command. Returns how they ended. */
export async function runBothSides(
  args: readonly string[],
  envOf: (side: number) => NodeJS.ProcessEnv,
) {
  const command = [...args, `-E=${await freePort()}`];
  const run = (side: number) => {
    const env = { ...envOf(side), ...softefaEnvironment({ node: side, memlock: 'unlimited' }) };
    return start(side === 1 ? [...command, '127.0.0.1'] : command, env).ended;
  };
  const [server, client] = await Promise.all([run(0), run(1)]);
  return { server, client };
}
