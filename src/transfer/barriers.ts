import type { TransferError } from './errors.js';
import { engineClosed } from './errors.js';

const NAME_LENGTH = 20; // bytes of the group's name and of the round
// The most barriers that peers have reached and this side has not. A peer may send any names.
const MAX_EARLY = 65_536;

/** One call of barrier(). */
export interface Barrier {
  /** The name of the barrier. The members send it to each other. */
  readonly name: Uint8Array;
  /** Resolves when all members have arrived. Rejects if the engine closes. */
  readonly passed: Promise<void>;
  /** Must be called when `passed` is no longer awaited. */
  forget(): void;
}

interface Waiting {
  /** Whether the barrier still waits for a peer. */
  awaits(peer: bigint): boolean;
  check(): void;
  reject(error: unknown): void;
}

/** The barriers of an engine, and the peers that have arrived at each. */
export class Barriers {
  // The peers that have arrived, by the barrier's name in hexadecimal digits.
  readonly #arrived = new Map<string, Set<bigint>>();
  readonly #waiting = new Map<string, Waiting>();
  // The number of calls of barrier(), by the group's name. Groups of the same engines are one group.
  readonly #rounds = new Map<string, number>();
  readonly #waits: (change: number) => void;

  /** @param waits is called when a call starts (1) or stops (-1) waiting. */
  constructor(waits: (change: number) => void) {
    this.#waits = waits;
  }

  arrived(from: bigint, name: Uint8Array): void {
    if (name.length !== NAME_LENGTH) return;
    const key = Buffer.from(name).toString('hex');
    if (!this.#waiting.has(key) && this.#isPast(name)) return;
    const peers = this.#arrived.get(key);
    if (peers === undefined && !this.#waiting.has(key) && this.#arrived.size >= MAX_EARLY) return;
    if (peers === undefined) this.#arrived.set(key, new Set([from]));
    else peers.add(from);
    this.#waiting.get(key)?.check();
  }

  /**
   * Begins the next barrier of a group.
   *
   * @param group 16 bytes.
   * @param members the engines that the barrier waits for.
   */
  next(group: Uint8Array, members: readonly bigint[]): Barrier {
    const name = this.#nameOfNext(group);
    const key = name.toString('hex');
    this.#waits(1);
    const passed = new Promise<void>((resolve, reject) => {
      const isHere = (member: bigint) => this.#arrived.get(key)?.has(member) ?? false;
      const awaits = (peer: bigint) => members.includes(peer) && !isHere(peer);
      const check = () => {
        if (members.every(isHere)) resolve();
      };
      this.#waiting.set(key, { awaits, check, reject });
      check();
    });
    passed.catch(() => {}); // the caller may have thrown the error of a message already
    return { name, passed, forget: () => this.#forget(key) };
  }

  #nameOfNext(group: Uint8Array): Buffer {
    const key = Buffer.from(group).toString('hex');
    const round = (this.#rounds.get(key) ?? 0) + 1;
    this.#rounds.set(key, round);
    const name = Buffer.alloc(NAME_LENGTH);
    name.set(group);
    name.writeUInt32LE(round, 16);
    return name;
  }

  // Whether the call of this side has ended before a member arrived, for example by a timeout.
  #isPast(name: Uint8Array): boolean {
    const { group, round } = partsOf(name);
    return round <= (this.#rounds.get(group) ?? 0);
  }

  #forget(key: string): void {
    this.#arrived.delete(key);
    this.#waiting.delete(key);
    this.#waits(-1);
  }

  /**
   * Rejects the barriers that wait for a peer that never arrives. `reason` is called for these only, because every
   * error that is made is also published.
   */
  left(peer: bigint, reason: () => TransferError): void {
    for (const { awaits, reject } of this.#waiting.values()) if (awaits(peer)) reject(reason());
  }

  close(): void {
    for (const { reject } of this.#waiting.values()) reject(engineClosed());
  }
}

function partsOf(name: Uint8Array) {
  const bytes = Buffer.from(name);
  return { group: bytes.toString('hex', 0, 16), round: bytes.readUInt32LE(16) };
}
