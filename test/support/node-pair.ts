// Both sides of a command, each on a node of the software device.
import { softefaEnvironment } from 'libfabric/softefa';
import { freePort } from './free-port.js';
import { runPair } from './sides.js';

/** Runs the server (side 0) and the client (side 1) of a command. Returns their outcomes. */
export async function runBothSides(
  args: readonly string[],
  envOf: (side: number) => NodeJS.ProcessEnv,
) {
  const environment = (node: number) => ({
    ...envOf(node),
    ...softefaEnvironment({ node, memlock: 'unlimited' }),
  });
  return runPair([...args, `-E=${await freePort()}`], {
    server: environment(0),
    client: environment(1),
  });
}
