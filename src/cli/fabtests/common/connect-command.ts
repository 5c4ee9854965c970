import type { Listening } from './listening.js';
import { connectToServer, listening, type OobAddress, PortInUse } from './oob.js';
import { linkCandidates, PeerLink } from './peer-link.js';
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
    const candidates = await listening(resolved, signal, linkCandidates);
    const begins = (link: PeerLink) => link.begins();
    const [link] = await candidates.client({ begins, meets: begins });
    candidates.close();
    link.recognize();
    return link;
  } catch (error) {
    if (error instanceof PortInUse) process.exitCode = USAGE;
    throw error;
  }
}
