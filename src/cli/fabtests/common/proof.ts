// Checks the first bytes of a connection to a server out of band. A client of fabtests begins with a handshake or with
// its address.
import type { OobSocket } from './oob.js';
import { isNameless } from './open-endpoint.js';
import { CONTROL_BYTES } from './peer-info.js';
import type { Settings } from './settings.js';

/** The first bytes of a client since 1.22. No address starts with them. */
export const HANDSHAKE = Buffer.alloc(4);
/** The byte that a client sends for ft_sync(), if the test synchronizes out of band. */
export const SYNC = Buffer.from('a');

const foreign = () => new Error('it speaks another protocol');

/**
 * Resolves when a candidate has sent the first bytes of a client: a handshake, or a whole address. Throws if they are
 * neither.
 *
 * @param insert throws if the bytes of a message do not begin with an address.
 */
export async function beginsExchange(
  candidate: OobSocket,
  insert: (message: Buffer) => void,
): Promise<void> {
  if ((await candidate.peek(HANDSHAKE.length)).equals(HANDSHAKE)) return;
  insert(await candidate.peek(CONTROL_BYTES));
}

/** Resolves when a candidate has sent a handshake, or the first byte for ft_sync(). */
export async function beginsSync(candidate: OobSocket): Promise<void> {
  if ((await candidate.peek(SYNC.length)).equals(SYNC)) return;
  if (!(await candidate.peek(HANDSHAKE.length)).equals(HANDSHAKE)) throw foreign();
}

// AF_INET and AF_INET6, which begin the structures of addresses.
const isSocketAddress = (bytes: Buffer) => [2, 10].includes(bytes.readUInt16LE());
const isTextAddress = (bytes: Buffer) => bytes.toString('latin1').startsWith('fi_');

/**
 * Resolves when it is time to open the endpoint for a candidate. If the address of the endpoint depends on where the client
 * has connected, the candidate must have begun as a client.
 */
export async function mayBeClient(candidate: OobSocket, settings: Settings): Promise<void> {
  if (!settings.oobExchange || isNameless(settings.provider)) return;
  const first = await candidate.peek(HANDSHAKE.length);
  if (first.equals(HANDSHAKE) || isSocketAddress(first) || isTextAddress(first)) return;
  throw foreign();
}
