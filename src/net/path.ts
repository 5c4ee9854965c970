import type { Duplex } from 'node:stream';
import type { Peer } from '../base/peer.js';
import { type Handle, native } from '../contract/native.js';
import type { Port } from './port.js';

/** Carries the packets that a session sends. */
export interface Path {
  /** The provider; 'control' for the control connection. */
  readonly name: string;
  /** Sends the packets that the session has, as far as there is room. Returns whether there were any. */
  send(): boolean;
  /** Sets whether it keeps the event loop alive. */
  hold(on: boolean): void;
  close(): void;
}

/** Bytes of packets in one write to the control connection. */
const BURST = 256 * 1024;

/** Packets of a session travel over its control connection. */
export class ControlPath implements Path {
  readonly name = 'control';
  readonly #session: Handle<'Session'>;
  readonly #control: Duplex & Partial<Pick<NodeJS.Timeout, 'ref' | 'unref'>>;
  #isFull = false;

  /** @param room is called when there is room again. */
  constructor(session: Handle<'Session'>, control: Duplex, room: () => void) {
    this.#session = session;
    this.#control = control;
    control.on('drain', () => {
      this.#isFull = false;
      room();
    });
  }

  send(): boolean {
    let hasSent = false;
    while (!this.#isFull) {
      const packets = native.netPackets(this.#session, BURST);
      if (packets === undefined) break;
      hasSent = true;
      this.#isFull = !this.#control.write(packets);
    }
    return hasSent;
  }

  hold(on: boolean): void {
    if (on) this.#control.ref?.();
    else this.#control.unref?.();
  }

  close(): void {}
}

/** The most packets of a session in flight: a peer that takes none must not use up the port's memory. */
const MOST = 32;

/** Packets of a session travel over the fabric. */
export class FabricPath implements Path {
  readonly name: string;
  readonly #session: Handle<'Session'>;
  readonly #port: Port;
  readonly #peer: Peer;
  readonly #room: () => void;
  readonly #failed: (error: Error) => void;
  #inFlight = 0;
  #waits = false;
  #isClosed = false;

  constructor(
    session: Handle<'Session'>,
    port: Port,
    peer: Peer,
    { room, failed }: { room: () => void; failed: (error: Error) => void },
  ) {
    this.name = port.provider;
    this.#session = session;
    this.#port = port;
    this.#peer = peer;
    this.#room = room;
    this.#failed = failed;
  }

  get #isFull(): boolean {
    return this.#waits || this.#inFlight >= MOST;
  }

  send(): boolean {
    let hasSent = false;
    while (!this.#isFull && !this.#isClosed) {
      const slot = this.#port.slot(this.#hasRoom);
      if (slot === undefined) {
        this.#waits = true;
        break;
      }
      const length = native.netPacket(this.#session, slot.region.bytes, slot.from);
      if (length === 0) {
        this.#port.giveBack(slot);
        break;
      }
      hasSent = true;
      this.#inFlight += 1;
      const wasFull = () => {
        const isFull = this.#isFull;
        this.#inFlight -= 1;
        this.#port.giveBack(slot);
        return isFull;
      };
      this.#port.send(slot, length, this.#peer).then(
        () => {
          if (wasFull() && !this.#isClosed) this.#room();
        },
        (error) => {
          wasFull();
          if (!this.#isClosed) this.#failed(error);
        },
      );
    }
    return hasSent;
  }

  readonly #hasRoom = (): void => {
    this.#waits = false;
    if (!this.#isClosed) this.#room();
  };

  hold(on: boolean): void {
    this.#port.hold(on ? 1 : -1);
  }

  close(): void {
    this.#isClosed = true;
    this.#port.forget(this.#peer);
  }
}
