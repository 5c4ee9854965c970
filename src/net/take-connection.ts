import type { Duplex } from 'node:stream';
import { invalidArgType, invalidArgValue, invalidState } from '../base/errors.js';
import { isRevoked } from '../base/objects.js';

const METHODS = ['write', 'on', 'off', 'pause', 'unshift', 'destroy'];

/** Checks for a stream with two sides. It may be of another library. */
export function checkConnection(connection: unknown): asserts connection is Duplex {
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
}

const taken = new WeakSet<Duplex>();

/** @throws Error ERR_INVALID_STATE if the connection was taken before. */
export function takeConnection(connection: Duplex): void {
  if (taken.has(connection)) throw invalidState('the connection is upgraded already');
  taken.add(connection);
}
