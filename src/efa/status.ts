import { checkObject } from '../base/checks.js';
import { type EfaStatus, efaStatus as statusOf } from '../base/efa-statuses.js';
import { invalidArgType } from '../base/errors.js';

/**
 * The meaning of a provider error number of the efa provider. Undefined if no release of the
 * provider has it.
 *
 * @param version of libfabric: names and meanings differ between releases.
 * @throws TypeError for invalid arguments.
 */
export function efaStatus(
  number: number,
  version?: { readonly major: number; readonly minor: number },
): EfaStatus | undefined {
  if (typeof number !== 'number') throw invalidArgType('number', 'a number', number);
  if (version === undefined) return statusOf(number);
  const { major, minor } = checkObject('version', version);
  if (typeof major !== 'number' || typeof minor !== 'number')
    throw invalidArgType('version', 'an object with the numbers major and minor', version);
  return statusOf(number, { major, minor });
}
