import type { Duplex } from 'node:stream';
import { type Handle, native } from '../contract/native.js';

/** Bytes of packets in one write to the control connection. */
const BURST = 256 * 1024;

/** Packets of a session travel over its control connection. */
export class ControlPath {
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

  /** Sends the packets that the session has, as far as there is room. Returns whether there were any. */
  send(): boolean {
    let hasSent = false;
    while (!this.#isFull && !this.#control.writableEnded) {
      const packets = native.netPackets(this.#session, BURST);
      if (packets === undefined) break;
      hasSent = true;
      this.#isFull = !this.#control.write(packets);
    }
    return hasSent;
  }

  /** Sets whether it keeps the event loop alive. */
  hold(on: boolean): void {
    if (on) this.#control.ref?.();
    else this.#control.unref?.();
  }
}
