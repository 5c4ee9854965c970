import { Deferred } from '../base/deferred.js';
import { Reached, ROUND_LENGTH } from './barrier-rounds.js';
import type { TransferError } from './errors.js';
import { engineClosed } from './errors.js';

const GROUP_LENGTH = 16; // bytes
const NAME_LENGTH = GROUP_LENGTH + ROUND_LENGTH;
// The most groups that peers have barriers of and this side has not. A peer may send any names.
const MAX_EARLY = 65_536;

/** Whether a message has the form of the name of a barrier. */
export const isBarrierName = (bytes: Uint8Array): boolean => bytes.length === NAME_LENGTH;

/**
 * Sends a message to all members, or only to those that are connected. Resolves when they have taken it. Must not throw.
 */
export type Announce = (message: Uint8Array, to: 'all' | 'connected') => Promise<unknown>;

/** One call of barrier(). */
export interface Barrier {
  /** Resolves when all members have arrived and have taken the name. Rejects if the engine closes, or a member is lost. */
  readonly passed: Promise<void>;
  /** Must be called when `passed` is no longer awaited. */
  forget(): void;
}

/** The barriers of a group of engines. Groups of the same engines are one group. */
class GroupBarriers {
  readonly name: Uint8Array;
  readonly own = new Reached();
  readonly reached = new Map<bigint, Reached>();
  readonly calls = new Set<Call>();

  constructor(name: Uint8Array) {
    this.name = name;
  }

  message(): Uint8Array {
    return Buffer.concat([this.name, this.own.bytes()]);
  }

  arrived(from: bigint, its: Reached): void {
    if (its.round <= this.own.round && this.calls.size === 0) return; // the call of this side has ended
    const known = this.reached.get(from);
    if (known === undefined) this.reached.set(from, its);
    else known.merge(its);
    for (const call of [...this.calls]) call.check();
  }

  end(call: Call): void {
    this.calls.delete(call);
    if (this.own.ended(call.round)) call.tell();
    if (this.calls.size > 0) return;
    for (const [peer, { round }] of this.reached) {
      if (round <= this.own.round) this.reached.delete(peer);
    }
  }
}

/** One call of barrier(), in the round that it waits for at present. */
class Call {
  round: number;
  readonly #group: GroupBarriers;
  readonly #members: readonly bigint[];
  readonly #announce: Announce;
  readonly #passed = new Deferred<void>();
  #announced: Promise<unknown> = Promise.resolve();
  #isOver = false; // all have arrived

  constructor(group: GroupBarriers, members: readonly bigint[], announce: Announce) {
    this.#group = group;
    this.#members = members;
    this.#announce = announce;
    this.round = group.own.round + 1;
    this.passed.catch(() => {}); // the caller may have thrown another error already
  }

  get passed(): Promise<void> {
    return this.#passed.promise;
  }

  begin(): void {
    this.#enter(this.#roundOfAll());
    this.check();
  }

  check(): void {
    if (this.#isOver) return;
    const round = this.#roundOfAll();
    if (round > this.round) this.#enter(round);
    const { own } = this.#group;
    if (!this.#members.every((member) => this.#isHere(member))) return;
    own.passed = Math.max(own.passed, this.round);
    this.#isOver = true;
    this.#announced.then(
      () => this.#passed.resolve(),
      () => {},
    );
  }

  /** Tells the members what this side has reached. They need not take it. */
  tell(): void {
    this.#announce(this.#group.message(), 'connected').catch(() => {});
  }

  awaits(peer: bigint): boolean {
    return this.#members.includes(peer) && !this.#isHere(peer);
  }

  reject(error: unknown): void {
    this.#passed.reject(error);
  }

  #isHere(member: bigint): boolean {
    return (this.#group.reached.get(member)?.round ?? 0) >= this.round;
  }

  /** The round of this call. If calls of a member have failed in it, that of the member's next call. */
  #roundOfAll(): number {
    let { round } = this;
    for (const member of this.#members) {
      const its = this.#group.reached.get(member);
      if (its?.hasGivenUp(round)) round = its.since;
    }
    return round;
  }

  #enter(round: number): void {
    const { own } = this.#group;
    this.round = round;
    own.round = Math.max(own.round, round);
    this.#announced = this.#announce(this.#group.message(), 'all');
    this.#announced.catch((error) => this.reject(error));
  }
}

/** The barriers of an engine, and the peers that have arrived at each. */
export class Barriers {
  // By the group's name in hexadecimal digits.
  readonly #groups = new Map<string, GroupBarriers>();
  readonly #waits: (change: number) => void;
  #early = 0;

  /** @param waits is called when a call starts (1) or stops (-1) waiting. */
  constructor(waits: (change: number) => void) {
    this.#waits = waits;
  }

  arrived(from: bigint, name: Uint8Array): void {
    const its = isBarrierName(name) ? Reached.of(name.subarray(GROUP_LENGTH)) : undefined;
    if (its === undefined) return;
    this.#groupOf(name.subarray(0, GROUP_LENGTH), MAX_EARLY)?.arrived(from, its);
  }

  /**
   * Begins the next barrier of a group.
   *
   * @param name 16 bytes.
   * @param members the engines that the barrier waits for.
   */
  next(name: Uint8Array, members: readonly bigint[], announce: Announce): Barrier {
    const group = this.#groupOf(name) as GroupBarriers;
    if (group.own.round === 0) this.#early -= 1;
    const call = new Call(group, members, announce);
    group.calls.add(call);
    this.#waits(1);
    call.begin();
    const forget = () => {
      group.end(call);
      this.#waits(-1);
    };
    return { passed: call.passed, forget };
  }

  /** @param mostEarly undefined if the group must be there. */
  #groupOf(name: Uint8Array, mostEarly?: number): GroupBarriers | undefined {
    const key = Buffer.from(name).toString('hex');
    let group = this.#groups.get(key);
    if (group === undefined) {
      if (mostEarly !== undefined && this.#early >= mostEarly) return undefined;
      group = new GroupBarriers(Uint8Array.from(name));
      this.#groups.set(key, group);
      this.#early += 1;
    }
    return group;
  }

  /**
   * Rejects the barriers that wait for a peer that never arrives. `reason` is called for these only, because every
   * error that is made is also published.
   */
  left(peer: bigint, reason: () => TransferError): void {
    for (const call of this.#calls()) if (call.awaits(peer)) call.reject(reason());
  }

  close(): void {
    for (const call of this.#calls()) call.reject(engineClosed());
  }

  *#calls(): Iterable<Call> {
    for (const { calls } of this.#groups.values()) yield* calls;
  }
}
