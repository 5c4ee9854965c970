import type { Duplex } from 'node:stream';
import { type Handle, native } from '../contract/native.js';
import { NetEvent } from '../contract/native-net.js';
import type { Agreement } from './agreement.js';
import { connectionError, numberOf } from './errors.js';
import { ControlPath, FabricPath, type Path } from './path.js';
import type { Port } from './port.js';

const HEARTBEAT = 1000; // ms without packets until this side acknowledges
// ms without anything from the peer until packets travel over the control connection, and until the session is lost.
// The event loop of the peer may be busy.
const SILENCE = 10_000;
const LOSS = 30_000;

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
 * The streams between this process and another one. Their packets travel over the fabric, or, without one, over the
 * control connection: that of node:net or node:tls over which the two have met.
 */
export class Session {
  readonly control: Duplex;
  /** Whether this side opens the streams with odd numbers. */
  readonly isFirst: boolean;
  /** Called when the peer has opened a stream. */
  opened: ((stream: number, mode: number) => void) | undefined;
  /** Called when packets travel over the control connection from now on, because the fabric has failed. */
  fellBack: ((error: Error) => void) | undefined;
  /** Called when the session has ended. */
  onEnd: ((error: Error) => void) | undefined;
  readonly #handle: Handle<'Session'>;
  readonly #owners = new Map<number, StreamOwner>();
  readonly #number: number;
  readonly #port: Port | undefined;
  #path: Path;
  #error: Error | undefined;
  #isScheduled = false;
  #isClosing = false;
  #receivedAt = performance.now();
  #sentAt = performance.now();
  #watchedAt = performance.now();
  #timer: NodeJS.Timeout;
  #references = 0;
  #holds = false;

  /** @param port the endpoint of this side, if it has one. The session releases it. */
  constructor(control: Duplex, agreement: Agreement, port?: Port) {
    this.control = control;
    this.#number = agreement.session;
    this.isFirst = agreement.first;
    this.#handle = native.netSession(agreement);
    this.#port = port;
    this.#path = this.#pathTo(agreement, port);
    control.on('data', this.#received).pause();
    control.on('error', (error) => this.fail(error));
    control.on('end', () => control.end());
    control.on('close', () => this.fail(connectionError('ECONNRESET', 'the peer is gone', 'read')));
    this.#timer = setInterval(this.#watch, HEARTBEAT / 2).unref();
    (control as Partial<Pick<NodeJS.Timeout, 'unref'>>).unref?.();
  }

  /** Takes packets, after `opened` and `onEnd` were set. */
  start(): void {
    this.#port?.listen(this.#number, this.#receivedPacket);
    this.control.resume();
  }

  #pathTo({ fabric }: Agreement, port: Port | undefined): Path {
    if (port === undefined || fabric?.provider !== port.provider) return this.#controlPath();
    const peer = port.meet(fabric.address);
    const room = () => this.#send();
    return new FabricPath(this.#handle, port, peer, { room, failed: this.#pathFailed });
  }

  #controlPath(): Path {
    return new ControlPath(this.#handle, this.control, () => this.#send());
  }

  // What the peer has not acknowledged is sent again. The peer applies each packet once.
  readonly #pathFailed = (error: Error): void => {
    if (this.#error !== undefined || this.#path.name === 'control') return;
    this.fellBack?.(error);
    this.#holdLoop(false);
    this.#path.close();
    this.#path = this.#controlPath();
    native.netAgain(this.#handle);
    this.#send();
    this.#holdLoop(true);
  };

  /** The provider whose endpoints carry the packets, or 'control'. */
  get path(): string {
    return this.#path.name;
  }

  /** Why the session has ended. */
  get error(): Error | undefined {
    return this.#error;
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
    this.#holdLoop(true);
  }

  // Until the peer has what was written, the process must not end.
  #holdLoop(may: boolean): void {
    const holds =
      may && (this.#references > 0 || native.netUnacknowledged(this.#handle) > 0) && !this.#error;
    if (holds === this.#holds) return;
    this.#holds = holds;
    this.#path.hold(holds);
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
    this.#holdLoop(false);
    this.#path.close();
    this.#port?.ignore(this.#number);
    this.#port?.release();
    this.onEnd?.(error);
    const owners = [...this.#owners];
    this.#owners.clear();
    for (const [stream, owner] of owners) {
      owner.lost(native.netHasPeerEnded(this.#handle, stream) ? undefined : error);
    }
  }

  readonly #received = (bytes: Buffer): void => this.#apply('netReceive', bytes);
  readonly #receivedPacket = (packet: Uint8Array): void => this.#apply('netTakePacket', packet);

  #apply(call: 'netReceive' | 'netTakePacket', bytes: Uint8Array): void {
    if (this.#error !== undefined) return;
    this.#receivedAt = performance.now();
    const broken = native[call](this.#handle, bytes);
    this.#deliver();
    if (broken !== undefined) this.fail(connectionError('EPROTO', broken, 'read'));
    else this.#send();
    if (this.#references === 0) this.#holdLoop(true);
  }

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
        else this.answer(stream, numberOf('ECONNREFUSED'));
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
    if (this.#error !== undefined) return;
    if (this.#path.send()) this.#sentAt = performance.now();
    this.#deliver(); // writers whose bytes have left
    if (!this.#isClosing || this.#owners.size > 0) return;
    if (native.netUnacknowledged(this.#handle) === 0) this.control.end();
  }

  // A control connection learns nothing of a power failure.
  readonly #watch = (): void => {
    const now = performance.now();
    // If this event loop was busy, packets may wait behind this timer.
    if (now - this.#watchedAt > 2 * HEARTBEAT) this.#receivedAt = now;
    this.#watchedAt = now;
    const silence = now - this.#receivedAt;
    if (silence > LOSS) {
      this.fail(connectionError('ETIMEDOUT', 'the peer is silent', 'read'));
      return;
    }
    if (silence > SILENCE)
      this.#pathFailed(connectionError('ETIMEDOUT', 'the peer is silent', 'read'));
    if (now - this.#sentAt < HEARTBEAT) return;
    native.netAcknowledge(this.#handle);
    this.#send();
  };
}
