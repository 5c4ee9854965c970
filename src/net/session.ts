import type { Duplex } from 'node:stream';
import { type Handle, type NativeAgreement, type NetCounts, native } from '../contract/native.js';
import { NetEvent } from '../contract/native-net.js';
import { connectionError } from './errors.js';

/** Bytes of packets in one write to the control connection. */
const BURST = 256 * 1024;
const HEARTBEAT = 1000; // ms without packets until this side acknowledges
const SILENCE = 5000; // ms without anything from the peer until the session is lost

/** What a stream's owner learns of it. */
export interface StreamOwner {
  accepted(): void;
  refused(errno: number): void;
  /** take() has something. */
  readable(): void;
  /** write() has room. */
  writable(): void;
  reset(errno: number): void;
  /** The session has ended. If the peer had ended its side before, `error` is undefined, and take() gives the rest. */
  lost(error: Error | undefined): void;
}

/** The modes of streams. */
export const Mode = { Bytes: 0, Messages: 1 } as const;

/**
 * The streams between this process and another one. Their packets travel over a connection of node:net or node:tls.
 */
export class Session {
  readonly control: Duplex;
  /** Called when the peer has opened a stream. */
  opened: ((stream: number, mode: number) => void) | undefined;
  /** Called when the session has ended. */
  onEnd: ((error: Error) => void) | undefined;
  readonly #handle: Handle<'Session'>;
  readonly #owners = new Map<number, StreamOwner>();
  #error: Error | undefined;
  #isFull = false;
  #isScheduled = false;
  #isClosing = false;
  #receivedAt = performance.now();
  #sentAt = performance.now();
  #timer: NodeJS.Timeout;
  #references = 0;

  constructor(control: Duplex, agreement: NativeAgreement) {
    this.control = control;
    this.#handle = native.netSession(agreement);
    control.on('data', this.#received);
    control.on('drain', () => {
      this.#isFull = false;
      this.#send();
    });
    control.on('error', (error) => this.fail(error));
    control.on('end', () => control.end());
    control.on('close', () => this.fail(connectionError('ECONNRESET', 'the peer is gone', 'read')));
    this.#timer = setInterval(this.#watch, HEARTBEAT / 2).unref();
    this.#holdLoop();
    control.resume();
  }

  /** Why the session has ended. */
  get error(): Error | undefined {
    return this.#error;
  }

  get counts(): NetCounts {
    return native.netCounts(this.#handle);
  }

  /** Opens a stream. Returns its number, 0 if there are too many. */
  open(owner: StreamOwner, mode: number): number {
    const stream = native.netOpen(this.#handle, mode);
    if (stream > 0) this.adopt(stream, owner);
    this.#schedule();
    return stream;
  }

  /** Sets the owner of a stream that the peer has opened. */
  adopt(stream: number, owner: StreamOwner): void {
    this.#owners.set(stream, owner);
  }

  answer(stream: number, errno: number): void {
    native.netAnswer(this.#handle, stream, errno);
    this.#schedule();
  }

  /** Accepts bytes from `from` on, and returns how many. If fewer than all, writable() follows. */
  write(stream: number, bytes: Uint8Array, from: number): number {
    const accepted = native.netWrite(this.#handle, stream, bytes, from);
    this.#schedule();
    return accepted;
  }

  /** What has arrived: bytes, or null at the end. If it returns undefined, readable() follows. */
  take(stream: number): Buffer | null | undefined {
    const taken = native.netTake(this.#handle, stream);
    if (taken) this.#schedule(); // the peer may send more
    return taken;
  }

  end(stream: number): void {
    native.netEnd(this.#handle, stream);
    this.#schedule();
  }

  /** Ends both sides: with a reset if the peer's bytes were not all taken. */
  destroy(stream: number): void {
    this.#owners.delete(stream);
    native.netDestroy(this.#handle, stream);
    this.#schedule();
  }

  reset(stream: number, errno: number): void {
    this.#owners.delete(stream);
    native.netReset(this.#handle, stream, errno);
    this.#schedule();
  }

  /** Changes the number of those who keep the event loop alive. */
  hold(change: 1 | -1): void {
    this.#references += change;
    this.#holdLoop();
  }

  #holdLoop(): void {
    const { control } = this as { control: Partial<Pick<NodeJS.Timeout, 'ref' | 'unref'>> };
    if (this.#references > 0) control.ref?.();
    else control.unref?.();
  }

  /** Ends the session when nobody uses its streams any more. What was written before still arrives. */
  close(): void {
    this.hold(1); // until it has ended
    this.#isClosing = true;
    this.#schedule();
  }

  /** Ends the session. Its streams are lost. */
  fail(error: Error): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    clearInterval(this.#timer);
    this.control.destroy();
    this.onEnd?.(error);
    const owners = [...this.#owners];
    this.#owners.clear();
    for (const [stream, owner] of owners) {
      owner.lost(native.netHasPeerEnded(this.#handle, stream) ? undefined : error);
    }
  }

  readonly #received = (bytes: Buffer): void => {
    if (this.#error !== undefined) return;
    this.#receivedAt = performance.now();
    const broken = native.netReceive(this.#handle, bytes);
    this.#deliver();
    if (broken !== undefined) this.fail(connectionError('EPROTO', broken, 'read'));
    else this.#send();
  };

  #deliver(): void {
    const events = native.netEvents(this.#handle);
    if (events === undefined) return;
    for (let at = 0; at < events.length; at += 3) {
      try {
        this.#tell(events[at] as number, events[at + 1] as number, events[at + 2] as number);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  #tell(kind: number, stream: number, value: number): void {
    const owner = this.#owners.get(stream);
    switch (kind) {
      case NetEvent.Opened:
        if (this.opened) this.opened(stream, value);
        else this.answer(stream, 111);
        break;
      case NetEvent.Accepted:
        owner?.accepted();
        break;
      case NetEvent.Refused:
        this.#owners.delete(stream);
        owner?.refused(value);
        break;
      case NetEvent.Readable:
        owner?.readable();
        break;
      case NetEvent.Writable:
        owner?.writable();
        break;
      case NetEvent.Reset:
        this.#owners.delete(stream);
        owner?.reset(value);
        break;
    }
  }

  // What is written in one turn of the event loop travels together.
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    process.nextTick(this.#sendScheduled);
  }

  readonly #sendScheduled = (): void => {
    this.#isScheduled = false;
    this.#send();
  };

  #send(): void {
    while (!this.#isFull && this.#error === undefined) {
      const packets = native.netPackets(this.#handle, BURST);
      if (packets === undefined) break;
      this.#sentAt = performance.now();
      this.#isFull = !this.control.write(packets);
    }
    this.#deliver(); // writers whose bytes have left
    if (this.#isClosing && !this.#isFull && this.#owners.size === 0) this.control.end();
  }

  // A control connection learns nothing of a power failure.
  readonly #watch = (): void => {
    const now = performance.now();
    if (now - this.#receivedAt > SILENCE) {
      this.fail(connectionError('ETIMEDOUT', 'the peer is silent', 'read'));
    } else if (now - this.#sentAt >= HEARTBEAT) {
      native.netAcknowledge(this.#handle);
      this.#send();
    }
  };
}
