// The options of engine.peer().
import { checkOptions, namesOf } from '../base/checks.js';
import { invalidArgType } from '../base/errors.js';
import { type Admit, checkOrigin, type Origin } from '../base/origin.js';

/** Options of engine.peer(). */
export interface PeerOptions {
  /**
   * The connection over which the address came, if its sender is not trusted. The address is then admitted if it is sealed
   * with the engine's `secret`, or, with a provider over IP, if it names the host of the connection: other rails of it are
   * not used. Addresses of shm are admitted from this host, those of efa from everywhere.
   */
  readonly from?: Origin;
  /**
   * Decides about an address that would not be admitted otherwise, and about each one of efa. Behind a proxy all
   * connections come from the host of the proxy.
   */
  readonly admit?: Admit;
}

const NAMES = namesOf<PeerOptions>({ from: 1, admit: 1 });

export function checkAdmit(admit: unknown): void {
  if (admit !== undefined && typeof admit !== 'function')
    throw invalidArgType('options.admit', 'a function', admit);
}

export function checkPeerOptions(options: PeerOptions): PeerOptions {
  const { from, admit } = checkOptions('options', options, NAMES);
  checkAdmit(admit);
  if (from === undefined) return {};
  return { from: checkOrigin('options.from', from), ...(admit && { admit }) };
}
