import type { NetSocketState } from '../diagnostics/net-state.js';
import { connectionError, errorOfPeer, numberOf } from './errors.js';
import { OwnerInContext } from './owner-in-context.js';
import { type Address, addressesOf, type Certified, certifiedOf, NO_ADDRESS } from './peer-info.js';
import type { SocketSession, StreamOwner } from './stream.js';

/** What a socket learns of its stream. */
export interface StreamHandlers extends Omit<StreamOwner, 'refused'> {
  /** There is no session, or the peer has refused the stream. */
  failed(error: Error): void;
}

/** The stream of a socket, and the session that it is a stream of. Its handlers are called in the async context of the socket. */
export class SocketStream {
  readonly #mode: number;
  readonly #handlers: StreamHandlers;
  readonly #owner: OwnerInContext;
  #number = 0; // in the session, 0 if it is not open
  #session: SocketSession | undefined;
  #address: Address = NO_ADDRESS;
  #certified: Certified = {};
  /** Changes with each opening and each end, so that an earlier opening cannot change a later one. */
  #attempt = 0;
  /** Finds another session, once, if the first one takes no more sockets. */
  #again: (() => Promise<SocketSession>) | undefined;
  #isOver = false;
  #wantsLoop = false;
  #holdsLoop = false;

  /** @param mode that of the stream: Mode. */
  constructor(mode: number, handlers: StreamHandlers) {
    this.#mode = mode;
    this.#handlers = handlers;
    this.#owner = new OwnerInContext({
      ...handlers,
      refused: (errno) => {
        const isClosing = errno === numberOf('ECONNREFUSED');
        if (!isClosing || !this.#openAgain()) handlers.failed(errorOfPeer(errno, 'connect'));
      },
    });
  }

  /**
   * Opens a stream of the session that will be found. accepted() or failed() follows.
   *
   * @param again finds another session, if the first one takes no more sockets.
   */
  openFrom(opening: Promise<SocketSession>, again?: () => Promise<SocketSession>): void {
    this.#again = again;
    this.#attempt += 1;
    const attempt = this.#attempt;
    opening.then(
      (session) => {
        if (attempt === this.#attempt) this.#open(session);
        else session.release();
      },
      (error) => {
        if (attempt === this.#attempt) this.#handlers.failed(error);
      },
    );
  }

  /** Opens a stream of a session. `again`: as for openFrom(). */
  open(session: SocketSession, again?: () => Promise<SocketSession>): void {
    this.#again = again;
    this.#open(session);
  }

  /** Takes a stream that the peer has opened. */
  accept(session: SocketSession, number: number): void {
    this.#join(session);
    this.#number = number;
    session.adopt(number, this.#owner);
  }

  #open(session: SocketSession): void {
    if (this.#isOver) {
      session.release();
      return;
    }
    if (session.error !== undefined) {
      if (!this.#openAgain()) this.#handlers.failed(session.error);
      return;
    }
    this.#join(session);
    this.#number = session.open(this.#owner, this.#mode);
    if (this.#number === 0)
      this.#handlers.failed(connectionError('EMFILE', 'too many sockets', 'connect'));
  }

  // The server closes, or has ended, and another one may listen at its port.
  #openAgain(): boolean {
    const again = this.#again;
    if (again === undefined) return false;
    const session = this.#session;
    this.leave();
    session?.retire();
    this.openFrom(again());
    return true;
  }

  #join(session: SocketSession): void {
    this.#session = session;
    this.#address = addressesOf(session.control);
    this.#certified = certifiedOf(session.control);
    this.#holdLoop();
  }

  /** Forgets the session, so that another one can be found. */
  leave(): void {
    if (this.#holdsLoop) this.#session?.hold(-1);
    this.#holdsLoop = this.#isOver = false;
    this.#number = 0;
    this.#session = undefined;
    this.#address = NO_ADDRESS;
    this.#certified = {};
  }

  /** From now on, the handlers are called in the async context of the caller. */
  joinCall(): void {
    this.#owner.join();
  }

  /** Calls a function in the async context of the socket. */
  run(call: () => void): void {
    this.#owner.run(call);
  }

  /** Sets whether it keeps the event loop alive, from the moment at which it has a session. */
  hold(on: boolean): void {
    this.#wantsLoop = on;
    this.#holdLoop();
  }

  #holdLoop(): void {
    const holds = this.#wantsLoop && this.#session !== undefined;
    if (holds === this.#holdsLoop) return;
    this.#holdsLoop = holds;
    this.#session?.hold(holds ? 1 : -1);
  }

  /** The session. It stays after the end of the stream. */
  get session(): SocketSession | undefined {
    return this.#session;
  }

  /** Whether it was opened, and neither side has destroyed it. The peer may not have accepted it. */
  get isOpen(): boolean {
    return this.#number > 0;
  }

  /** As write() of the session. */
  write(bytes: Uint8Array, from: number): number {
    return this.#session?.write(this.#number, bytes, from) ?? 0;
  }

  /** As take() of the session. */
  take(): Buffer | null | undefined {
    return this.isOpen ? this.#session?.take(this.#number) : undefined;
  }

  /** As takeInto() of the session. */
  takeInto(into: Uint8Array, from: number): number {
    return this.isOpen ? (this.#session?.takeInto(this.#number, into, from) ?? 0) : 0;
  }

  end(): void {
    if (this.isOpen) this.#session?.end(this.#number);
  }

  /** Ends both sides after the accepted bytes: as destroy() of the session. It opens no more before leave(). */
  destroy(isCut = false): void {
    this.#attempt += 1;
    this.#isOver = true;
    this.#again = undefined;
    if (this.isOpen) this.#session?.destroy(this.#number, isCut);
    this.#number = 0;
  }

  /** Ends both sides at once. The peer gets ECONNRESET. */
  reset(): void {
    if (this.isOpen) this.#session?.reset(this.#number, 0);
    this.#number = 0;
  }

  /** What the stream waits for, and the bytes on their way. Undefined if it is not open. */
  state(): NetSocketState | undefined {
    return this.isOpen ? this.#session?.socketState(this.#number) : undefined;
  }

  /** The addresses of the control connection. */
  get address(): Address {
    return this.#address;
  }

  /** What TLS says of the peer, if the control connection uses it. */
  get certified(): Certified {
    return this.#certified;
  }
}
