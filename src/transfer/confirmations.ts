import { type Handle, native } from '../contract/native.js';
import { Taken } from './outbox.js';
import { MAX_NOTE } from './packet.js';

/** The purpose of a message between engines. */
export const Channel = { Program: 0, Group: 1, Stream: 2 } as const;
export type Channel = (typeof Channel)[keyof typeof Channel];
export const CHANNELS = Object.values(Channel);

/** One value for each channel. */
export const byChannel = <T>(make: (channel: Channel) => T): Record<Channel, T> => ({
  [Channel.Program]: make(Channel.Program),
  [Channel.Group]: make(Channel.Group),
  [Channel.Stream]: make(Channel.Stream),
});

const MOST = MAX_NOTE / 4; // packet numbers in one confirmation

/** Confirms to a peer which of its packets were taken. All packets of a turn are confirmed together. */
export class Confirmations {
  readonly #engine: Handle<'TransferEngine'>;
  readonly #peer: Handle<'RemotePeer'>;
  readonly #mayTell: () => boolean;
  #taken: Record<Channel, number[]> | undefined;

  /** @param mayTell returns whether both the engine and the peer are open. */
  constructor(
    engine: Handle<'TransferEngine'>,
    peer: Handle<'RemotePeer'>,
    mayTell: () => boolean,
  ) {
    this.#engine = engine;
    this.#peer = peer;
    this.#mayTell = mayTell;
  }

  /** A packet was taken. */
  add(channel: Channel, sequence: number): void {
    if (this.#taken === undefined) {
      this.#taken = byChannel(() => []);
      queueMicrotask(() => {
        if (this.#mayTell()) this.flush();
      });
    }
    this.#taken[channel].push(sequence);
  }

  /** Sends the confirmations now. */
  flush(): void {
    const taken = this.#taken;
    this.#taken = undefined;
    if (taken === undefined) return;
    for (const channel of CHANNELS) {
      const numbers = taken[channel];
      for (let i = 0; i < numbers.length; i += MOST) {
        this.#tell(Taken.Some, channel, numbers.slice(i, i + MOST));
      }
    }
  }

  /** Tells the peer that no more of its packets will be taken. */
  end(): void {
    this.flush();
    for (const channel of CHANNELS) this.#tell(Taken.Last, channel, []);
  }

  #tell(status: number, channel: Channel, numbers: readonly number[]): void {
    const bytes = new Uint8Array(Uint32Array.from(numbers).buffer);
    native.transferTake(this.#engine, this.#peer, bytes, channel, status);
  }
}
