import { Deferred } from '../base/deferred.js';
import { bytesOf, PRESENCE_LENGTH, type Presence, presenceOf } from './barrier-presence.js';
import type { TransferError } from './errors.js';
import { engineClosed } from './errors.js';

const GROUP_LENGTH = 16; // bytes
const NAME_LENGTH = GROUP_LENGTH + PRESENCE_LENGTH;
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
  /** Must be called when `passed` is no longer awaited: with true if the call of the program succeeds. */
  end(hasPassed: boolean): void;
}

/** The barriers of a group of engines. Groups of the same engines are one group. */
class GroupBarriers {
  readonly #name: Uint8Array;
  readonly #presences = new Map<bigint, Presence>();
  /** The calls that wait, in their order. The first one is in the round after the last that has passed. */
  readonly #waiting: Call[] = [];
  #version = 0;
  #passed = 0;

  constructor(name: Uint8Array) {
    this.#name = name;
  }

  get hasBegun(): boolean {
    return this.#version > 0;
  }

  get calls(): readonly Call[] {
    return this.#waiting;
  }

  arrived(from: bigint, presence: Presence): void {
    const known = this.#presences.get(from);
    if (known !== undefined && known.version >= presence.version) return;
    this.#presences.set(from, presence);
    this.#pass();
  }

  begin(call: Call): void {
    this.#waiting.push(call);
    const taken = call.announce(this.#message(), 'all');
    taken.then(() => {
      call.isTaken = true;
      this.#pass();
    }, call.reject);
  }

  /** @param hasPassed whether the program knows that the barrier has passed. Otherwise its next call is in the same round. */
  end(call: Call, hasPassed: boolean): void {
    if (hasPassed) return;
    const place = this.#waiting.indexOf(call);
    if (place >= 0) this.#waiting.splice(place, 1);
    else if (call.hasPassed) this.#passed -= 1;
    call.announce(this.#message(), 'connected').catch(() => {}); // the members need not take it
    this.#pass();
  }

  /** Whether a call waits for a member. */
  awaits(call: Call, member: bigint): boolean {
    return call.members.includes(member) && this.#roundOf(member) < this.#round(call);
  }

  #round(call: Call): number {
    return this.#passed + this.#waiting.indexOf(call) + 1;
  }

  #roundOf(member: bigint): number {
    return this.#presences.get(member)?.round ?? 0;
  }

  #message(): Uint8Array {
    this.#version += 1;
    const round = this.#passed + this.#waiting.length;
    return Buffer.concat([this.#name, bytesOf({ version: this.#version, round })]);
  }

  #pass(): void {
    for (let call = this.#waiting[0]; call !== undefined; call = this.#waiting[0]) {
      const isHere = (member: bigint) => this.#roundOf(member) > this.#passed;
      if (!call.isTaken || !call.members.every(isHere)) return;
      this.#waiting.shift();
      this.#passed += 1;
      call.pass();
    }
  }
}

/** One call of barrier(). */
class Call {
  readonly members: readonly bigint[];
  readonly announce: Announce;
  /** Whether the members have taken the message of this call. */
  isTaken = false;
  hasPassed = false;
  readonly #end = new Deferred<void>();

  constructor(members: readonly bigint[], announce: Announce) {
    this.members = members;
    this.announce = announce;
    this.passed.catch(() => {}); // the caller may have thrown another error already
  }

  get passed(): Promise<void> {
    return this.#end.promise;
  }

  pass(): void {
    this.hasPassed = true;
    this.#end.resolve();
  }

  readonly reject = (error: unknown): void => this.#end.reject(error);
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
    const presence = isBarrierName(name) ? presenceOf(name.subarray(GROUP_LENGTH)) : undefined;
    if (presence === undefined) return;
    this.#groupOf(name.subarray(0, GROUP_LENGTH), MAX_EARLY)?.arrived(from, presence);
  }

  /**
   * Begins the next barrier of a group.
   *
   * @param name 16 bytes.
   * @param members the engines that the barrier waits for.
   */
  next(name: Uint8Array, members: readonly bigint[], announce: Announce): Barrier {
    const group = this.#groupOf(name) as GroupBarriers;
    if (!group.hasBegun) this.#early -= 1;
    const call = new Call(members, announce);
    this.#waits(1);
    group.begin(call);
    const end = (hasPassed: boolean) => {
      group.end(call, hasPassed);
      this.#waits(-1);
    };
    return { passed: call.passed, end };
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
    for (const group of this.#groups.values()) {
      for (const call of group.calls) if (group.awaits(call, peer)) call.reject(reason());
    }
  }

  close(): void {
    for (const { calls } of this.#groups.values()) {
      for (const call of calls) call.reject(engineClosed());
    }
  }
}
