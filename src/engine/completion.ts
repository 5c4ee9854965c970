import { uncloneable } from '../base/describe.js';
import { invalidArgType } from '../base/errors.js';
import type { CompletionFlag } from '../base/flags.js';
import type { Peer } from '../base/peer.js';
import { completionFlagNames } from '../contract/flag-bits.js';
import type { Entries } from './entries.js';

const UNCLONEABLE = uncloneable(
  'a Completion has accessors: send its { length, tag, data, flags }',
);

/**
 * A completed receive (fi_cq(3)). Fields that the completion queue's format does not have are 0.
 */
export class Completion {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /** The number of bytes that arrived. */
  readonly length: number;
  /** The sender. Undefined without FI_SOURCE, or if the sender is not in the address vector. */
  readonly source: Peer | undefined;
  /** Multi-receive buffers: byte offset of the message in the buffer. */
  readonly offset: number;
  readonly #tag: bigint | number;
  readonly #data: bigint | number;
  readonly #flags: number;
  readonly #highFlags: number;

  /** @internal */
  constructor(
    length: number,
    source: Peer | undefined,
    offset: number,
    tag: bigint | number,
    data: bigint | number,
    flags: number,
    highFlags: number,
  ) {
    this.length = length;
    this.source = source;
    this.offset = offset;
    this.#tag = tag;
    this.#data = data;
    this.#flags = flags;
    this.#highFlags = highFlags;
  }

  /** The tag of a tagged message, all 64 bits of it. */
  get tag(): bigint {
    return BigInt(this.#tag);
  }

  /** The remote CQ data of the message. Undefined if it had none. */
  get data(): bigint | undefined {
    return (this.#flags & REMOTE_CQ_DATA) !== 0 ? BigInt(this.#data) : undefined;
  }

  /** @internal Whether a peer's write with data has consumed the receive: FI_RX_CQ_DATA. */
  get isWrite(): boolean {
    return (this.#flags & REMOTE_WRITE) !== 0;
  }

  /** @internal Writes its tag, data and flags into an operation. */
  putInto(entries: Entries, at: number): void {
    entries.setTag(at, this.#tag);
    entries.setData(at, this.#data);
    entries.setFlags(at, (BigInt(this.#highFlags) << 32n) | BigInt(this.#flags));
  }

  /** The kind of the operation: `['FI_RECV', 'FI_MSG']`. */
  get flags(): readonly CompletionFlag[] {
    return completionFlagNames(this.#flags, this.#highFlags);
  }
}

const REMOTE_WRITE = 1 << 13;
const REMOTE_CQ_DATA = 1 << 17;

const claims = new WeakMap<Completion, number>();

/** @internal Records the token of the message that a peek with FI_CLAIM has claimed. */
export function setClaim(completion: Completion, token: number): void {
  claims.set(completion, token);
}

/** @internal The token of the claimed message. */
export function claimToken(completion: Completion | undefined): number {
  const token = completion === undefined ? undefined : claims.get(completion);
  if (token === undefined) {
    throw invalidArgType(
      'options.claim',
      'the completion of a peek with FI_CLAIM whose message was not received yet',
      completion,
    );
  }
  return token;
}

/** @internal Removes the claim: a claimed message can be received once. */
export function endClaim(completion: Completion): void {
  claims.delete(completion);
}
