import type { Listening } from './listening.js';
import { connectToServer, listening, type OobAddress, PortInUse } from './oob.js';
import { linkVisitors, PeerLink } from './peer-link.js';
import { resolveHost } from './resolve-host.js';
import { USAGE } from './usage-command.js';

type Where = OobAddress & Listening & { readonly oobExchange: true };

/**
 * Connects the two sides of a command over TCP. The server prints where it listens. The first process that sends
 * a message of this package is its client.
 *
 * @throws PortInUse, and sets the exit code of wrong usage.
 */
export async function connectCommand(where: Where, signal: AbortSignal): Promise<PeerLink> {
  const resolved = await resolveHost(where);
  const { host, oobAddress, oobPort, timeout } = resolved;
  if (host !== undefined) {
    return new PeerLink(await connectToServer(oobPort, oobAddress ?? host, timeout * 1000));
  }
  try {
    const visitors = await listening(resolved, signal, linkVisitors);
    const begins = (link: PeerLink) => link.begins();
    const [link] = await visitors.client({ begins, meets: begins });
    visitors.close();
    link.recognize();
    return link;
  } catch (error) {
    if (error instanceof PortInUse) process.exitCode = USAGE;
    throw error;
  }
}
