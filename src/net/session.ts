import type { Duplex } from 'node:stream';
import { withoutContext } from '../base/async-context.js';
import { publishClose, publishOpen } from '../base/channels.js';
import { FabricError } from '../base/errors.js';
import { throwLater } from '../base/throw-later.js';
import { type Handle, native } from '../contract/native.js';
import { NetEvent } from '../contract/native-net.js';
import {
  type NetSessionState,
  type NetSocketState,
  netSessions,
} from '../diagnostics/net-state.js';
import type { Sender } from '../transfer/peer-at.js';
import type { Agreement } from './agreement.js';
import { publishFallback, publishNicLost } from './channels.js';
import { ControlPath, isBeat } from './control-path.js';
import { ControlWatch } from './control-watch.js';
import { connectionError, errorOfPeer, numberOf } from './errors.js';
import { Inquiry } from './inquiry.js';
import { Links } from './links.js';
import type { Carried } from './port.js';
import type { Link, Ports } from './ports.js';
import { socketStateOf, stateOf } from './session-state.js';
import type { SocketSession, StreamOwner } from './stream.js';
import { hasWaiting, inLaterTurn, inTurn, takeTurn } from './turns.js';

/** ms that a session stays without sockets, for the next ones. */
const IDLE = 60_000;
/** ms until a session reports that its packets travel over TCP. */
const REPORT_AFTER = 100;

const MAX_REASONS = 100; // that are remembered
const reasons = new Set<string>();

/** Says on standard error, once for each reason, that the fabric is not used, although the program asked for it. */
export function warnOf({ message }: Error): void {
  if (reasons.has(message) || reasons.size >= MAX_REASONS) return;
  reasons.add(message);
  process.emitWarning(`packets travel over TCP: ${message}`, {
    type: 'LibfabricWarning',
    code: 'LIBFABRIC_NET_FALLBACK',
  });
}

/** How a session uses the fabric. */
export interface SessionOptions {
  /** The endpoints of this side. The session releases them. Undefined: packets travel over the control connection. */
  readonly ports?: Ports;
  readonly links?: readonly Link[];
  /** Why they do, although the program asked for the fabric. */
  readonly fallback?: Error | undefined;
  /** 'fabric': the session ends instead. */
  readonly require?: 'fabric' | undefined;
}

/**
 * The streams between this process and another one. Their packets travel over the fabric, or, without one, over the
 * control connection: that of node:net or node:tls over which the two have met.
 */
export class Session implements Carried, SocketSession {
  readonly control: Duplex;
  /** Whether this side opens the first stream. */
  readonly opens: boolean;
  readonly number: number;
  readonly handle: Handle<'Session'>;
  /** Called when the peer has opened a stream. */
  opened: ((stream: number, mode: number) => void) | undefined;
  onRetire: (() => void) | undefined;
  stranger: Sender | undefined;
  /** Called when the session has ended. */
  onEnd: ((error: Error) => void) | undefined;
  /** Whether the session ends with its only socket. */
  isOfOneSocket = false;
  /** Whether it takes no more sockets when it was without any for a minute. */
  endsWhenIdle = false;
  #idle: NodeJS.Timeout | undefined;
  readonly #owners = new Map<number, StreamOwner>();
  readonly #controlPath: ControlPath;
  readonly #require: 'fabric' | undefined;
  /** If none is used, packets travel over the control connection. */
  readonly #links: Links;
  #path = 'control';
  #fallback: Error | undefined;
  /** Why it ends. */
  #error: Error | undefined;
  /** It ends when the events before have been told. */
  #hasEnded = false;
  #isScheduled = false;
  #isClosing = false;
  #hasSaidGoodbye = false;
  /** The control connection is lost, and the peer was asked whether it is alive. */
  #inquiry: Inquiry | undefined;
  readonly #watch = new ControlWatch({
    acknowledge: () => {
      native.netAcknowledge(this.handle);
      this.#send();
    },
    silent: () => this.fail(connectionError('ETIMEDOUT', 'the peer is silent', 'read')),
  });
  #report: NodeJS.Timeout | undefined;
  #references = 0;

  constructor(control: Duplex, agreement: Agreement, options: SessionOptions = {}) {
    this.control = control;
    this.number = agreement.session;
    this.opens = agreement.opens;
    this.handle = native.netSession(agreement);
    this.#links = new Links(this, options.ports, options.links ?? []);
    if (this.#links.any) this.#path = this.#links.provider;
    this.#fallback = options.fallback;
    this.#require = options.require;
    this.#controlPath = new ControlPath(
      this.handle,
      control,
      () => this.#send(),
      (error) => this.#lostControl(error),
    );
    control.on('data', this.#received).pause();
  }

  /** Takes packets, after `opened` and `onEnd` were set. */
  start(): void {
    this.#links.carry();
    if (this.#links.any) this.#controlPath.keepBusy(true);
    else this.#watch.start();
    this.control.resume();
    this.#rest();
    netSessions.add(this);
    publishOpen('netSession', this);
  }

  /** The provider whose endpoints carry the packets, or have carried them to the end; or 'control'. */
  get path(): string {
    return this.#path;
  }

  /** @internal */
  get controlState(): NetSessionState['control'] {
    if (!this.#controlPath.isLost) return 'open';
    return this.#inquiry ? 'asking' : 'lost';
  }

  /** Why packets travel over the control connection, although the program asked for the fabric. */
  get fallback(): Error | undefined {
    return this.#fallback;
  }

  // What the peer has not acknowledged is sent again. The peer applies each packet once.
  #leaveFabric(error: Error): void {
    if (!this.#links.any) return;
    if (this.#controlPath.isLost) {
      this.fail(connectionError('ECONNRESET', 'the peer is gone', 'read'));
      return;
    }
    if (this.#require === 'fabric') {
      this.fail(error);
      return;
    }
    this.#controlPath.keepBusy(false);
    this.#path = 'control';
    this.#fallback = error;
    this.#links.leave(); // LinkLost follows
    this.#holdLoop();
    this.#watch.start();
    // If the peer has ended, its control connection closes now.
    this.#report = setTimeout(() => {
      warnOf(error);
      publishFallback({ session: this.state(), error });
      for (const owner of this.#owners.values()) owner.fellBack(error);
    }, REPORT_AFTER).unref();
  }

  // A proxy or a NAT may have ended the connection. The fabric tells whether the peer is alive.
  #lostControl(error: Error): void {
    this.#deliver(); // the peer may have closed the session
    if (this.#hasEnded) return;
    if (!this.#links.any || this.#hasSaidGoodbye) {
      this.fail(error);
      return;
    }
    this.retire();
    this.#inquiry = new Inquiry(() => this.fail(error));
    native.netAsk(this.handle);
    this.#send();
  }

  #lostLink(number: number, errno: number): void {
    if (!this.#links.any) {
      this.#send(); // what the link has not delivered
      return;
    }
    const detail = 'a NIC does not reach the peer';
    const error = new FabricError(errno, 'libfabric/net', { detail });
    if (this.#links.isLast(number)) {
      this.#leaveFabric(error);
      return;
    }
    this.#links.lose(number);
    publishNicLost({ session: this.state(), nic: this.#links.nic(number), error });
    for (const owner of this.#owners.values()) owner.lostNic(error);
  }

  /** @internal */
  state(): NetSessionState {
    return stateOf(this, this.#links.state());
  }

  /** @internal */
  socketState(stream: number): NetSocketState | undefined {
    return socketStateOf(this, stream);
  }

  /** Why the session has ended. */
  get error(): Error | undefined {
    if (this.#error || !this.#hasSaidGoodbye) return this.#error;
    return connectionError('ECONNRESET', 'the session is closed', 'read');
  }

  /** Opens a stream. Returns its number, 0 if there are too many. */
  open(owner: StreamOwner, mode: number): number {
    const stream = native.netOpen(this.handle, mode);
    if (stream > 0) this.adopt(stream, owner);
    this.#schedule();
    return stream;
  }

  /** Sets the owner of a stream that the peer has opened. */
  adopt(stream: number, owner: StreamOwner): void {
    this.#owners.set(stream, owner);
    clearTimeout(this.#idle);
  }

  answer(stream: number, errno: number): void {
    native.netAnswer(this.handle, stream, errno);
    this.#schedule();
  }

  /** Accepts bytes from `from` on, and returns how many. If fewer than all, writable() follows. */
  write(stream: number, bytes: Uint8Array, from: number): number {
    const accepted = native.netWrite(this.handle, stream, bytes, from);
    this.#schedule();
    return accepted;
  }

  /** What has arrived: bytes, or null at the end. If it returns undefined, readable() follows. */
  take(stream: number): Buffer | null | undefined {
    const taken = native.netTake(this.handle, stream);
    if (taken) this.#schedule(); // the peer may send more
    return taken instanceof ArrayBuffer ? Buffer.from(taken) : taken;
  }

  /** Writes what has arrived into memory. Returns the number of bytes, -1 at the end. If it returns 0, readable() follows. */
  takeInto(stream: number, into: Uint8Array, from: number): number {
    const taken = native.netTakeInto(this.handle, stream, into, from);
    if (taken > 0) this.#schedule();
    return taken;
  }

  end(stream: number): void {
    native.netEnd(this.handle, stream);
    this.#schedule();
  }

  /** Ends both sides after the accepted bytes: with a reset if the peer's bytes were not all taken, or if `isCut`. */
  destroy(stream: number, isCut = false): void {
    this.#remove(stream);
    native.netDestroy(this.handle, stream, isCut);
    this.#schedule();
  }

  reset(stream: number, errno: number): void {
    this.#remove(stream);
    native.netReset(this.handle, stream, errno);
    this.#schedule();
  }

  /** Changes the number of those who keep the event loop alive. */
  hold(change: 1 | -1): void {
    this.#references += change;
    this.#holdLoop();
  }

  // Until the peer has what was written, and until a session that closes has ended, the process must not end.
  #holdLoop(): void {
    const isEnding = this.#isClosing && this.#owners.size === 0;
    const isNeeded = this.#references > 0 || isEnding || !native.netIsDelivered(this.handle);
    const holds = !this.#hasEnded && isNeeded;
    this.#links.hold(holds);
    this.#controlPath.hold(holds && !this.#links.any);
  }

  /** Lets no new sockets join. */
  retire(): void {
    const { onRetire } = this;
    this.onRetire = undefined;
    if (onRetire === undefined) return;
    onRetire();
    this.close();
  }

  /** Ends the session when nobody uses its streams any more. What was written before still arrives. */
  close(): void {
    this.#isClosing = true;
    this.#holdLoop();
    this.#schedule();
  }

  #remove(stream: number): void {
    this.#owners.delete(stream);
    this.release();
    this.#rest();
  }

  #rest(): void {
    if (!this.endsWhenIdle || this.#owners.size > 0) return;
    this.#idle = withoutContext(() => setTimeout(() => this.retire(), IDLE).unref());
  }

  /** Ends a session of one socket that has left, or that was destroyed before it could open. */
  release(): void {
    if (!this.isOfOneSocket || this.#owners.size > 0) return;
    this.#isClosing = true;
    this.#schedule();
  }

  /** Ends the session. Its streams are lost. */
  fail(error: Error): void {
    if (this.#error !== undefined) return;
    this.#deliver(); // what arrived before
    if (this.#error !== undefined) return;
    this.#error = error;
    if (hasWaiting()) inLaterTurn(() => this.#end(error));
    else this.#end(error);
  }

  #end(error: Error): void {
    this.#hasEnded = true;
    if (netSessions.delete(this)) publishClose('netSession', this);
    this.#watch.stop();
    clearTimeout(this.#report);
    clearTimeout(this.#idle);
    this.#inquiry?.stop();
    this.#controlPath.keepBusy(false);
    this.control.destroy();
    this.#holdLoop();
    this.#links.close();
    this.onEnd?.(error);
    const owners = [...this.#owners];
    this.#owners.clear();
    for (const [stream, owner] of owners) {
      inTurn(() => owner.lost(error, native.netHasPeerEnded(this.handle, stream), false));
    }
  }

  // Packets from the control connection.
  readonly #received = (bytes: Buffer): void => {
    if (this.#hasEnded) return;
    this.#watch.received();
    if (this.#links.any && !isBeat(bytes))
      this.#leaveFabric(connectionError('ENETDOWN', 'the peer has left the fabric', 'read'));
    const broken = native.netReceive(this.handle, bytes);
    this.#deliver();
    if (broken !== undefined) this.fail(connectionError('EPROTO', broken, 'read'));
    else this.#send();
    if (this.#references === 0) this.#holdLoop();
  };

  #deliver(): void {
    const events = native.netEvents(this.handle);
    if (events === undefined) return;
    for (let at = 0; at < events.length; at += 3) {
      try {
        this.told(events[at] as number, events[at + 1] as number, events[at + 2] as number);
      } catch (error) {
        throwLater(error);
      }
    }
  }

  /** Takes an event. Those that the program sees have a turn each. */
  told(kind: number, stream: number, value: number): void {
    const isSeen = kind !== NetEvent.Delivered && kind !== NetEvent.Answered;
    if (isSeen ? takeTurn() : !hasWaiting()) this.#tell(kind, stream, value);
    else inLaterTurn(() => this.#tell(kind, stream, value));
  }

  #tell(kind: number, stream: number, value: number): void {
    if (this.#hasEnded) return;
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
        this.#remove(stream);
        owner?.refused(value);
        break;
      case NetEvent.Readable:
        owner?.readable();
        break;
      case NetEvent.Writable:
        owner?.writable();
        break;
      case NetEvent.Reset:
        owner?.lost(
          errorOfPeer(0, 'read'),
          native.netHasPeerEnded(this.handle, stream),
          value === numberOf('EPIPE'),
        );
        break;
      case NetEvent.Delivered:
        this.#delivered();
        break;
      case NetEvent.Broken:
        this.fail(connectionError('EPROTO', native.netWhy(this.handle), 'read'));
        break;
      case NetEvent.LinkLost:
        this.#lostLink(stream, value);
        break;
      case NetEvent.LinkFound:
        this.#links.find(stream);
        break;
      case NetEvent.Answered:
        this.#inquiry?.stop();
        this.#inquiry = undefined;
        break;
      case NetEvent.Left:
        this.fail(connectionError('ECONNRESET', 'the peer has closed the session', 'read'));
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
    if (this.#hasEnded) return;
    if (this.#links.any) {
      this.#links.send();
    } else {
      if (this.#controlPath.send()) this.#watch.sent();
      this.#deliver(); // writers whose bytes have left
    }
    if (this.#isClosing) this.#delivered();
  }

  #delivered(): void {
    if (this.#references === 0) this.#holdLoop();
    if (!this.#isClosing || this.#owners.size > 0) return;
    if (!native.netIsDelivered(this.handle)) return;
    if (!this.#hasSaidGoodbye) {
      this.#hasSaidGoodbye = true;
      native.netGoodbye(this.handle);
      this.#schedule();
    } else if (this.#controlPath.isLost) {
      this.fail(connectionError('ECONNRESET', 'the session is closed', 'read'));
    } else {
      this.control.end();
    }
  }
}
