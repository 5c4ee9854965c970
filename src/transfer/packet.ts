// A packet carries the messages that a program sends to a peer in one turn of the event loop. Each message stands
// behind its length: u16, little-endian.
import type { Deferred } from '../base/deferred.js';
import type { RemoteEngine } from './remote-engine.js';

/** The most bytes of a message between engines. */
export const MAX_NOTE = 3072;

const CAPACITY = 4040; // Message::kMaxPayload of native/transfer/message.h
const LENGTH_BYTES = 2;

/** Messages to a peer that are sent and confirmed together. */
export interface Packet {
  readonly peer: RemoteEngine;
  readonly bytes: Uint8Array;
  /** The promises of the messages. */
  readonly messages: readonly Deferred<void>[];
  /** Whether the provider has delivered the packet. */
  delivered: boolean;
}

/** A packet that is being written. The packets of a draft share their bytes until they are kept. */
export class Draft {
  // Made for the first message: most engines send none to most of their peers.
  #bytes: Uint8Array | undefined;
  #length = 0;
  #peer: RemoteEngine | undefined;
  #messages: Deferred<void>[] = [];

  get isEmpty(): boolean {
    return this.#messages.length === 0;
  }

  /** Whether the message belongs to this packet and has room in it. */
  takes(peer: RemoteEngine, length: number): boolean {
    return (
      this.isEmpty || (peer === this.#peer && this.#length + LENGTH_BYTES + length <= CAPACITY)
    );
  }

  add(peer: RemoteEngine, bytes: Uint8Array, sending: Deferred<void>): void {
    this.#bytes ??= new Uint8Array(CAPACITY);
    const at = this.#length;
    this.#peer = peer;
    this.#bytes[at] = bytes.length & 0xff;
    this.#bytes[at + 1] = bytes.length >>> 8;
    this.#bytes.set(bytes, at + LENGTH_BYTES);
    this.#length = at + LENGTH_BYTES + bytes.length;
    this.#messages.push(sending);
  }

  /** Ends the packet. Its bytes are valid until the next add(), unless they are copied. */
  end(copied: boolean): Packet {
    const bytes = (this.#bytes as Uint8Array).subarray(0, this.#length);
    const packet = {
      peer: this.#peer as RemoteEngine,
      bytes: copied ? Uint8Array.from(bytes) : bytes,
      messages: this.#messages,
      delivered: false,
    };
    this.#length = 0;
    this.#messages = [];
    return packet;
  }

  /** Lets the memory and the peer of an empty packet go. */
  release(): void {
    if (!this.isEmpty) return;
    this.#bytes = undefined;
    this.#peer = undefined;
  }
}

/**
 * The messages of a packet, as copies that do not share memory. Returns undefined if the bytes are not a packet.
 */
export function messagesOf(bytes: Uint8Array): Buffer[] | undefined {
  const messages: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = (bytes[at] as number) | ((bytes[at + 1] ?? 0xff) << 8);
    const end = at + LENGTH_BYTES + length;
    if (end > bytes.length) return undefined;
    messages.push(Buffer.from(bytes.subarray(at + LENGTH_BYTES, end)));
    at = end;
  }
  return messages;
}
