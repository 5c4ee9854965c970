import type { Peer } from '../../../base/peer.js';
import type { Domain } from '../../../domain.js';
import type { Completion } from '../../../engine/completion.js';
import type { MemoryRegion, RegionSlice } from '../../../memory/memory-region.js';
import { allocateFor } from './memory.js';
import type { TestEndpoint } from './open-endpoint.js';
import { fillPattern } from './pattern.js';
import { CONTROL_BYTES } from './peer-info.js';

// Each receive that is posted ahead has its own slot. Sends use one more slot.
const SLOTS = 4;
const [OUT, ACKNOWLEDGEMENT, ANSWER] = [SLOTS, SLOTS + 1, SLOTS + 2];
const ALL_SLOTS = SLOTS + 3;

interface PostedReceive {
  readonly promise: Promise<Completion>;
  readonly slot: RegionSlice;
}

/** The parts of a session that its control messages use. */
export interface ControlChannel {
  readonly ep: TestEndpoint;
  readonly domain: Domain;
  readonly tagged: boolean;
  sent: number;
  received: number;
  until<T>(promise: Promise<T>): Promise<T>;
}

/** A session's messages outside its timed loops, at most 256 bytes each, and their memory. */
export class ControlMessages {
  readonly #session: ControlChannel;
  readonly #region: MemoryRegion;
  readonly #posted: PostedReceive[] = [];
  #next = 0;

  constructor(session: ControlChannel, region: MemoryRegion) {
    this.#session = session;
    this.#region = region;
  }

  static allocate(domain: Domain): Promise<MemoryRegion> {
    return allocateFor(domain, ALL_SLOTS * CONTROL_BYTES, ['FI_SEND', 'FI_RECV']);
  }

  /** The message with which bandwidth tests acknowledge a window. */
  get acknowledgement(): RegionSlice {
    const slice = this.#slot(ACKNOWLEDGEMENT, 4);
    fillPattern(slice.bytes);
    return slice;
  }

  /** The receive buffer for acknowledgements. */
  get answer(): RegionSlice {
    return this.#slot(ANSWER);
  }

  #slot(number: number, length = CONTROL_BYTES): RegionSlice {
    return this.#region.slice(number * CONTROL_BYTES, number * CONTROL_BYTES + length);
  }

  postReceive(): void {
    const { ep, tagged, domain } = this.#session;
    const slot = this.#slot(this.#next);
    this.#next = (this.#next + 1) % SLOTS;
    const tag = this.#session.received++;
    const promise = tagged ? ep.trecv(slot, null, tag) : ep.recv(slot);
    promise.catch(() => {}); // if no message arrives, it rejects when the endpoint closes
    this.#posted.push({ promise, slot });
    domain.progress();
  }

  /** Posts a receive if none is posted. */
  receiveAhead(): void {
    if (this.#posted.length === 0) this.postReceive();
  }

  /** Receives a message. `wait` drives the engine until the message has arrived. */
  async receive(wait: (promise: Promise<Completion>) => Promise<Completion>): Promise<Uint8Array> {
    this.receiveAhead();
    const posted = this.#posted[0] as PostedReceive;
    const { length } = await wait(posted.promise);
    this.#posted.shift();
    return posted.slot.bytes.subarray(0, length);
  }

  async send(bytes: Uint8Array, to: Peer): Promise<void> {
    const { ep, tagged } = this.#session;
    const slice = this.#slot(OUT, bytes.length);
    slice.bytes.set(bytes);
    const tag = this.#session.sent++;
    await this.#session.until(tagged ? ep.tsend(slice, to, tag) : ep.send(slice, to));
  }
}
