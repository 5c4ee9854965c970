import type { Socket } from 'node:net';
import { announcePort, type Listening } from './listening.js';
import { connectSides, type OobAddress, PortInUse } from './oob.js';
import { resolveHost } from './resolve-host.js';
import { USAGE } from './usage-command.js';

type Where = OobAddress & Listening & { readonly oobExchange: true };

/**
 * Connects the two sides of a command over TCP. The server tells its user where it waits.
 *
 * @throws PortInUse, and sets the exit code of wrong usage.
 */
export async function connectCommand(where: Where, signal: AbortSignal): Promise<Socket> {
  try {
    return await connectSides(await resolveHost(where), signal, (port) =>
      announcePort(where, port),
    );
  } catch (error) {
    if (error instanceof PortInUse) process.exitCode = USAGE;
    throw error;
  }
}
