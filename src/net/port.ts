import type { Peer } from '../base/peer.js';
import type { Endpoint } from '../endpoint/compose.js';
import type { MemoryRegion } from '../memory/memory-region.js';
import { open } from '../open.js';

/** Which endpoint carries the packets of a session. */
export interface FabricOptions {
  /** efa, shm, tcp, ... If omitted, packets travel over the control connection. */
  readonly provider?: string;
  readonly driver?: 'thread' | 'loop';
  /** The local address of the endpoint, for providers over IP. */
  readonly node?: string;
}

/** The most bytes of a packet. */
const PACKET = 32 * 1024;
const RECEIVES = 128;
/** Packets in flight from one piece of memory, and the most pieces. */
const SLOTS = 64;
const MAX_PIECES = 16;
/** Packets that are kept before a session starts. */
const MOST_EARLY = 64;

type PortEndpoint = Endpoint<'FI_EP_RDM', 'FI_MSG'>;

/** Room for a packet in registered memory, until it has been sent. */
export interface Slot {
  readonly region: MemoryRegion;
  readonly from: number;
}

/** An endpoint that carries the packets of many sessions. */
export class Port {
  readonly packetSize: number;
  readonly #endpoint: PortEndpoint;
  readonly #key: string;
  /** What takes the packets of a session, by the session's number. */
  readonly #receivers = new Map<number, (packet: Uint8Array) => void>();
  readonly #early = new Map<number, Uint8Array[]>();
  readonly #free: Slot[] = [];
  readonly #waiting = new Set<() => void>();
  #pieces = 0;
  #growing: Promise<void> | undefined;
  #references = 0;

  private constructor(endpoint: PortEndpoint, key: string) {
    this.#endpoint = endpoint;
    this.#key = key;
    this.packetSize = Math.min(PACKET, endpoint.maxMsgSize);
    endpoint.unref();
  }

  // The ports of this thread, by their options, and the number of their users.
  static readonly #ports = new Map<string, { opening: Promise<Port>; users: number }>();

  /** The port with these options. Each call that succeeds needs a release(). */
  static async take(options: FabricOptions): Promise<Port> {
    const key = JSON.stringify([options.provider, options.driver, options.node]);
    let known = Port.#ports.get(key);
    if (known === undefined) {
      known = { opening: Port.#open(options, key), users: 0 };
      Port.#ports.set(key, known);
    }
    known.users += 1;
    try {
      return await known.opening;
    } catch (error) {
      Port.#ports.delete(key);
      throw error;
    }
  }

  static async #open({ provider, driver, node }: FabricOptions, key: string): Promise<Port> {
    const endpoint = await open({
      caps: ['FI_MSG'],
      ...(provider !== undefined && { provider }),
      ...(driver !== undefined && { driver }),
      ...(node !== undefined && { node }),
    });
    const port = new Port(endpoint as PortEndpoint, key);
    await port.#grow();
    port.#receive();
    return port;
  }

  /** Closes the endpoint after the last user. */
  release(): void {
    const known = Port.#ports.get(this.#key);
    if (known === undefined || --known.users > 0) return;
    Port.#ports.delete(this.#key);
    this.#endpoint.close().catch(() => {}); // the provider has broken it
  }

  /** The address at which peers reach the endpoint. */
  get address(): Uint8Array {
    return this.#endpoint.address;
  }

  /** The provider of the endpoint. */
  get provider(): string {
    return this.#endpoint.info.fabricAttr.provName ?? '';
  }

  meet(address: Uint8Array): Peer {
    return this.#endpoint.av.insert(address);
  }

  forget(peer: Peer): void {
    this.#endpoint.av.remove(peer).catch(() => {}); // the endpoint closes
  }

  /** Keeps the packets of a session that the peer knows before this side does. */
  expect(session: number): void {
    const early: Uint8Array[] = [];
    this.#early.set(session, early);
    this.#receivers.set(session, (packet) => {
      if (early.length < MOST_EARLY) early.push(Uint8Array.from(packet));
    });
  }

  /** Sets what takes the packets of a session. */
  listen(session: number, receiver: (packet: Uint8Array) => void): void {
    this.#receivers.set(session, receiver);
    const early = this.#early.get(session) ?? [];
    this.#early.delete(session);
    for (const packet of early) receiver(packet);
  }

  ignore(session: number): void {
    this.#receivers.delete(session);
    this.#early.delete(session);
  }

  /** Room for a packet. If it returns undefined, `free` is called when there may be some. */
  slot(free: () => void): Slot | undefined {
    const slot = this.#free.pop();
    if (slot !== undefined) return slot;
    this.#waiting.add(free);
    if (this.#pieces < MAX_PIECES) this.#growing ??= this.#grow();
    return undefined;
  }

  giveBack(slot: Slot): void {
    this.#free.push(slot);
    for (const free of this.#waiting) {
      if (this.#free.length === 0) return;
      this.#waiting.delete(free);
      free();
    }
  }

  /** Sends the packet in a slot. */
  send(slot: Slot, length: number, peer: Peer): Promise<void> {
    return this.#endpoint.send(slot.region.slice(slot.from, slot.from + length), peer);
  }

  async #grow(): Promise<void> {
    this.#pieces += 1;
    try {
      const region = await this.#endpoint.domain.allocate(SLOTS * this.packetSize, ['FI_SEND']);
      for (let i = 0; i < SLOTS; i++) this.giveBack({ region, from: i * this.packetSize });
    } finally {
      this.#growing = undefined;
    }
  }

  /** Changes the number of sessions that keep the event loop alive. */
  hold(change: 1 | -1): void {
    this.#references += change;
    if (this.#references > 0) this.#endpoint.ref();
    else this.#endpoint.unref();
  }

  // Anybody may send to the endpoint. Sessions check whether a packet is theirs.
  async #receive(): Promise<void> {
    const SESSION_AT = 36; // native/net/packet.h
    const options = { count: RECEIVES, size: this.packetSize, borrow: true, onTruncated: 'skip' };
    try {
      for await (const { bytes } of this.#endpoint.messages(options as { borrow: true })) {
        if (bytes.length < SESSION_AT + 4) continue;
        const at = bytes.byteOffset + SESSION_AT;
        const session = new DataView(bytes.buffer).getUint32(at, true);
        this.#receivers.get(session)?.(bytes);
      }
    } catch {
      // The endpoint has closed, or is broken: sends to it fail, and sessions use another path.
    }
  }
}
