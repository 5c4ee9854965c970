import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Handle, native } from '../contract/native.js';
import { connectionError } from './errors.js';

/** Bytes of packets in one write to the control connection. */
const BURST = 256 * 1024;

/** A packet of no bytes. While packets travel over the fabric, it tells proxies and NATs that the connection is used. */
const BEAT = Buffer.alloc(4);
const BEAT_INTERVAL = 1000; // ms
/** Milliseconds without bytes until the system asks whether the peer is there. */
const KEEP_ALIVE = 15_000;

/** Whether bytes are beats. The first byte of a packet's length may be 0 too: its next bytes then tell. */
export const isBeat = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);

// The connections that beat, with one timer.
const beating = new Set<Duplex>();
let timer: NodeJS.Timeout | undefined;

function beat(): void {
  for (const control of beating) {
    if (!control.writableNeedDrain && control.writable) control.write(BEAT);
  }
}

function setBeating(control: Duplex, on: boolean): void {
  if (on) beating.add(control);
  else beating.delete(control);
  if (beating.size === 0) {
    clearInterval(timer);
    timer = undefined;
  } else {
    timer ??= setInterval(beat, BEAT_INTERVAL).unref();
  }
}

/** The control connection of a session, over which its packets travel without a fabric. */
export class ControlPath {
  readonly #session: Handle<'Session'>;
  readonly #control: Duplex & Partial<Pick<Socket, 'ref' | 'unref' | 'setKeepAlive'>>;
  #isFull = false;
  #isLost = false;
  #holds = false;

  /**
   * @param room is called when there is room again.
   * @param lost is called once, when the connection has ended.
   */
  constructor(
    session: Handle<'Session'>,
    control: Duplex,
    room: () => void,
    lost: (error: Error) => void,
  ) {
    this.#session = session;
    this.#control = control;
    const onLost = (error: Error) => {
      if (this.#isLost) return;
      this.#isLost = true;
      this.keepBusy(false);
      lost(error);
    };
    control.on('drain', () => {
      this.#isFull = false;
      room();
    });
    control.on('error', onLost);
    control.on('end', () => control.end());
    control.on('close', () => onLost(connectionError('ECONNRESET', 'the peer is gone', 'read')));
    this.#control.setKeepAlive?.(true, KEEP_ALIVE);
    this.#control.unref?.();
  }

  /** Whether it has ended. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Sets whether it carries something each second, although no packets travel over it. */
  keepBusy(on: boolean): void {
    setBeating(this.#control, on && !this.#isLost);
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
    if (on === this.#holds || this.#isLost) return;
    this.#holds = on;
    if (on) this.#control.ref?.();
    else this.#control.unref?.();
  }
}
