import { closed, FabricError, invalidArgValue } from '../base/errors.js';
import {
  ADMIT_HINT,
  type Admit,
  admitted,
  isHere,
  type Origin,
  refusalOf,
  sourceOf,
} from '../base/origin.js';
import { decodeAddress, type EngineAddress, identityText } from './address.js';
import type { EngineParts } from './engine-parts.js';
import { errnoOf } from './errors.js';
import type { RemoteEngine, Usable } from './remote-engine.js';

function decoded({ settings, provider }: EngineParts, address: string): EngineAddress {
  const found = decodeAddress(address, settings.secret);
  if (found.provider === provider) return found;
  throw invalidArgValue(
    'address',
    `is of an engine over ${found.provider}, and this one uses ${provider}`,
  );
}

/**
 * The peer with this address.
 *
 * @param id the identity that the address must have, if it is known.
 * @param met is called with the peer before messages that wait for it pass.
 * @throws TypeError ERR_INVALID_ARG_VALUE if the address is malformed, was sealed with another secret, belongs to
 * another engine or to an engine with another provider, or is a second one of a peer.
 */
export function peerAt(
  parts: EngineParts,
  address: string,
  id?: string,
  met?: (peer: RemoteEngine) => void,
): RemoteEngine {
  const found = decoded(parts, address);
  if (id !== undefined && identityText(found.id) !== id) {
    throw invalidArgValue('address', `is of the engine ${identityText(found.id)}`);
  }
  return parts.meeting.meet(found, undefined, met);
}

/** Who has sent an address. */
export interface Sender {
  readonly connection: Origin;
  /** The host of the connection when the address came: sourceOf(). If omitted, its host now. */
  readonly source?: string;
  readonly admit?: Admit | undefined;
}

/** What keeps a peer until it calls release(). */
export interface PeerHolder {
  /** Called before the peer is made, or held. It may throw. */
  makeRoom?(): void;
  /** Called when it holds the peer, once more or for the first time. */
  held?(peer: RemoteEngine): void;
  /** Called when the engine of the peer was closed. */
  left?(peer: RemoteEngine): void;
}

/**
 * The peer with an address that has come over a connection. Without a secret, the address may be forged: its rails are used
 * that belong to the host of the connection, or all if `admit` says so.
 *
 * @throws as peerAt() does. FabricError FI_EACCES if no rail may be used.
 */
export async function peerFrom(
  parts: EngineParts,
  address: string,
  sender: Sender,
  holder: PeerHolder,
): Promise<RemoteEngine> {
  const found = decoded(parts, address);
  const usable =
    parts.settings.secret.length > 0 ? undefined : await usableOf(parts, found, sender);
  if (!parts.isOpen) throw closed('the transfer engine');
  if (!parts.peers.get(found.id)?.holders.has(holder)) holder.makeRoom?.();
  const peer = parts.meeting.meet(found, usable);
  peer.holders.add(holder);
  holder.held?.(peer);
  return peer;
}

async function usableOf(
  parts: EngineParts,
  { id, provider, rails }: EngineAddress,
  { connection, admit, source = sourceOf(connection) }: Sender,
): Promise<Usable> {
  const format = parts.rails[0]?.info.addrFormat ?? '';
  const named = { id: identityText(id), provider, format, addresses: rails };
  const usable = await admitted(named, source, connection, admit);
  if (usable.includes(true)) return { usable, maps: isHere(source) };
  const detail = refusalOf(named, source);
  throw new FabricError(errnoOf('FI_EACCES'), 'transfer', { detail, hint: ADMIT_HINT });
}
