import { countAsHandled } from '../base/cancellation.js';

// Milliseconds for which an engine that the directories did not have is a stranger, before they are asked again.
const REMEMBERED = 500;
// The most strangers that are remembered. Their identities are not verified.
const MAX_STRANGERS = 65_536;

/**
 * Packets of engines that are no peers yet, in their order, while the directories that this engine has joined are asked for
 * them: a member may send before the list of this engine has it.
 */
export class UnknownSenders<P> {
  readonly #held = new Map<bigint, P[]>();
  // When they were asked for, oldest first.
  readonly #strangers = new Map<bigint, number>();
  readonly #look: () => Promise<unknown> | undefined;
  readonly #pass: (packet: P) => void;

  /**
   * @param look asks the directories. Undefined if there is none. It must not reject.
   * @param pass takes the packets of an engine that was found, or that is a stranger.
   */
  constructor(look: () => Promise<unknown> | undefined, pass: (packet: P) => void) {
    this.#look = look;
    this.#pass = pass;
  }

  /** Keeps a packet. Returns false if there is nobody to ask about its sender, or if it was asked lately. */
  hold(from: bigint, packet: P): boolean {
    const held = this.#held.get(from);
    if (held !== undefined) {
      held.push(packet);
      return true;
    }
    this.#forgetStrangers();
    if (this.#strangers.has(from)) return false;
    const looking = this.#look();
    if (looking === undefined) return false;
    this.#held.set(from, [packet]);
    countAsHandled(this.#passAfter(from, looking));
    return true;
  }

  async #passAfter(from: bigint, looking: Promise<unknown>): Promise<void> {
    const held = this.#held.get(from);
    await looking;
    if (this.#held.get(from) !== held) return; // it has become a peer
    this.#strangers.delete(from); // the newest is the last
    this.#strangers.set(from, performance.now());
    this.#passHeld(from);
  }

  #forgetStrangers(): void {
    const now = performance.now();
    for (const [from, askedAt] of this.#strangers) {
      if (now - askedAt < REMEMBERED && this.#strangers.size <= MAX_STRANGERS) return;
      this.#strangers.delete(from);
    }
  }

  #passHeld(from: bigint): void {
    const held = this.#held.get(from) ?? [];
    this.#held.delete(from);
    for (const packet of held) this.#pass(packet);
  }

  /** The sender is a peer now. */
  known(from: bigint): void {
    this.#strangers.delete(from);
    this.#passHeld(from);
  }
}
