import { types } from 'node:util';
import { uncloneable } from './describe.js';
import { invalidArgType } from './errors.js';

const UNCLONEABLE = uncloneable(
  'a Peer belongs to its address vector: send av.lookup(peer), for av.insert() there',
);

/**
 * A peer: an address in an address vector (fi_av(3)). Operations can use it until it is removed as
 * often as it was inserted.
 */
export class Peer {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /** @internal The handle in the engine's table. It contains a generation number. */
  readonly handle: number;
  /** @internal The identity of its address vector. */
  readonly vector: object;
  #insertions = 0;
  #removals = 0;

  /** @internal */
  constructor(handle: number, vector: object) {
    this.handle = handle;
    this.vector = vector;
  }

  /** Whether it was removed from its address vector. */
  get removed(): boolean {
    return this.#removals === this.#insertions;
  }

  /** @internal */
  static is(value: unknown): value is Peer {
    return typeof value === 'object' && value !== null && #removals in value;
  }

  /** @internal */
  markInserted(): void {
    this.#insertions += 1;
  }

  /** @internal */
  markRemoved(): void {
    this.#removals += 1;
  }
}

/** The error for a value that is not a Peer. An address is the usual one. */
export function notAPeer(name: string, value: unknown): Error {
  const address =
    typeof value === 'string' || ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value);
  return invalidArgType(name, address ? 'a Peer: use av.insert(address)' : 'a Peer', value);
}
