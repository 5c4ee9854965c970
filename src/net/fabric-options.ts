import {
  checkInteger,
  checkNames,
  checkObject,
  checkString,
  namesOf,
  oneOf,
} from '../base/checks.js';
import { MAX_ADDRESSES } from './agreement.js';
import type { Heartbeat } from './port.js';
import type { FabricOptions } from './ports.js';

export const FABRIC_NAMES = namesOf<FabricOptions>({
  provider: 1,
  driver: 1,
  node: 1,
  heartbeat: 1,
  nics: 1,
  require: 1,
});

const HEARTBEAT_NAMES = namesOf<Heartbeat>({ interval: 1, limit: 1 });
const MAX_HEARTBEAT = 3_600_000; // ms

/**
 * Checks the values of the options that name a fabric. Other members are the caller's.
 *
 * @throws TypeError, RangeError ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE, ERR_OUT_OF_RANGE.
 */
export function checkFabricOptions({
  provider,
  driver,
  node,
  heartbeat,
  nics,
  require,
}: FabricOptions): void {
  if (provider !== undefined) checkString('options.provider', provider);
  if (driver !== undefined) oneOf('options.driver', driver, ['thread', 'loop']);
  if (node !== undefined) checkString('options.node', node);
  if (nics !== undefined) checkInteger('options.nics', nics, 1, MAX_ADDRESSES);
  if (require !== undefined) oneOf('options.require', require, ['fabric']);
  const given = checkObject('options.heartbeat', heartbeat);
  checkNames('options.heartbeat', given, HEARTBEAT_NAMES);
  for (const name of HEARTBEAT_NAMES) {
    const value = given[name];
    if (value !== undefined) checkInteger(`options.heartbeat.${name}`, value, 1, MAX_HEARTBEAT);
  }
}
