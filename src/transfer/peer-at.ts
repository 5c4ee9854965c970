import { invalidArgValue } from '../base/errors.js';
import { decodeAddress, identityText } from './address.js';
import type { EngineParts } from './engine-parts.js';
import type { RemoteEngine } from './remote-engine.js';

/**
 * The peer with this address.
 *
 * @param id the identity that the address must have, if it is known.
 * @throws TypeError ERR_INVALID_ARG_VALUE if the address is malformed, was sealed with another secret, or belongs to
 * another engine or to an engine with another provider.
 */
export function peerAt(parts: EngineParts, address: string, id?: string): RemoteEngine {
  const { settings, provider, meeting } = parts;
  const decoded = decodeAddress(address, settings.secret);
  if (decoded.provider !== provider) {
    throw invalidArgValue(
      'address',
      `is of an engine over ${decoded.provider}, and this one uses ${provider}`,
    );
  }
  if (id !== undefined && identityText(decoded.id) !== id) {
    throw invalidArgValue('address', `is of the engine ${identityText(decoded.id)}`);
  }
  return meeting.meet(decoded);
}
