import type { Entries } from './engine/entries.js';
import { OpField } from './engine/layout.js';
import { invalidArgType } from './errors.js';
import { completionFlagNames } from './flag-bits.js';
import type { CompletionFlag } from './flags.js';
import type { Peer } from './peer.js';

/**
 * A completed receive (fi_cq(3)). What the completion queue's format leaves out reads as 0.
 */
export class Completion {
  /** Bytes that arrived. */
  readonly length: number;
  /** Who sent it; undefined without FI_SOURCE, or when the sender is not in the address vector. */
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

  /** The remote CQ data that came with it; undefined when none did. */
  get data(): bigint | undefined {
    return (this.#flags & REMOTE_CQ_DATA) !== 0 ? BigInt(this.#data) : undefined;
  }

  /** @internal Writes what it tells of its message into an operation. */
  putInto(entries: Entries, at: number): void {
    entries.set64(at, OpField.Tag64, this.#tag);
    entries.set64(at, OpField.Data64, this.#data);
    entries.set64(at, OpField.Flags64, (BigInt(this.#highFlags) << 32n) | BigInt(this.#flags));
  }

  /** What completed: `['FI_RECV', 'FI_MSG']`. */
  get flags(): readonly CompletionFlag[] {
    return completionFlagNames(this.#flags, this.#highFlags);
  }
}

const REMOTE_CQ_DATA = 1 << 17;

const claims = new WeakMap<Completion, number>();

/** @internal Notes that a message was set aside for whoever has this completion. */
export function setClaim(completion: Completion, token: number): void {
  claims.set(completion, token);
}

/** @internal The token of a claimed message. */
export function claimToken(completion: Completion | undefined): number {
  const token = completion === undefined ? undefined : claims.get(completion);
  if (token === undefined) {
    throw invalidArgType(
      'options.claim',
      'what a peek with FI_CLAIM found, not taken yet',
      completion,
    );
  }
  return token;
}

/** @internal A claim can be taken once. */
export function endClaim(completion: Completion): void {
  claims.delete(completion);
}
