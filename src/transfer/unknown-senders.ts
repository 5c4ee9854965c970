import { countAsHandled } from '../base/cancellation.js';

/**
 * Packets of engines that are no peers yet, in their order, while the directories that this engine has joined are asked for
 * them: a member may send before the list of this engine has it.
 */
export class UnknownSenders<P> {
  readonly #held = new Map<bigint, P[]>();
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

  /** Keeps a packet. Returns false if there is nobody to ask about its sender. */
  hold(from: bigint, packet: P): boolean {
    const held = this.#held.get(from);
    if (held !== undefined) {
      held.push(packet);
      return true;
    }
    const looking = this.#look();
    if (looking === undefined) return false;
    this.#held.set(from, [packet]);
    countAsHandled(this.#passAfter(from, looking));
    return true;
  }

  // The sender may have joined after the look began. Packets that came meanwhile have a look of their own.
  async #passAfter(from: bigint, first: Promise<unknown>): Promise<void> {
    for (let looking: Promise<unknown> | undefined = first; ; looking = this.#look()) {
      const held = this.#held.get(from);
      if (held === undefined) return;
      const count = held.length;
      await looking;
      if (this.#held.get(from) !== held) return; // it has become a peer
      for (const packet of held.splice(0, count)) this.#pass(packet);
      if (held.length > 0) continue;
      this.#held.delete(from);
      return;
    }
  }

  /** The sender is a peer now. */
  known(from: bigint): void {
    const held = this.#held.get(from);
    this.#held.delete(from);
    for (const packet of held ?? []) this.#pass(packet);
  }
}
