import type { Duplex } from 'node:stream';
import { invalidArgType, invalidArgValue, invalidState } from '../base/errors.js';
import { isRevoked } from '../base/objects.js';

const METHODS = ['write', 'on', 'off', 'pause', 'unshift', 'destroy'];

const used = new WeakSet<Duplex>();

/**
 * Checks for a stream with two sides, which may be of another library, and takes it: once.
 *
 * @throws TypeError; Error ERR_INVALID_STATE if it was taken before.
 */
export function takeConnection(connection: unknown): asserts connection is Duplex {
  const isObject = typeof connection === 'object' && connection !== null && !isRevoked(connection);
  const members = isObject ? (connection as unknown as Record<string, unknown>) : {};
  if (!METHODS.every((name) => typeof members[name] === 'function'))
    throw invalidArgType('connection', 'a Duplex', connection);
  const { readableEncoding, readableObjectMode } = connection as Duplex;
  if (readableEncoding || readableObjectMode)
    throw invalidArgValue(
      'connection',
      'must give bytes: it has an encoding, or is in object mode',
    );
  if (used.has(connection as Duplex)) throw invalidState('the connection is upgraded already');
  used.add(connection as Duplex);
}
