import type { Duplex } from 'node:stream';
import type { NetSessionState, NetSocketState } from '../diagnostics/net-state.js';
import type { Sender } from '../transfer/peer-at.js';

/** The modes of streams. */
export const Mode = { Bytes: 0, Messages: 1 } as const;

/** What a stream's owner learns of it. */
export interface StreamOwner {
  accepted(): void;
  refused(errno: number): void;
  /** take() has something. */
  readable(): void;
  /** write() has room. */
  writable(): void;
  /** Packets travel over the control connection from now on, because the fabric has failed. */
  fellBack(error: Error): void;
  /** Packets travel over the other NICs from now on. */
  lostNic(error: Error): void;
  /**
   * The peer has reset the stream, or the session has ended. take() gives what arrived before; `isWhole`: it ends with the
   * peer's end. `isUnread`: the peer has closed the stream, and not read all bytes. After that, the owner destroys the
   * stream.
   */
  lost(error: Error, isWhole: boolean, isUnread: boolean): void;
}

/** What carries the streams of sockets between two processes: a Session, or a PlainSession. */
export interface SocketSession {
  /** The connection over which the sides have met. */
  readonly control: Duplex;
  /** Set on the side of a server: the client. */
  stranger: Sender | undefined;
  /** Whether this side opens the first stream. */
  readonly opens: boolean;
  readonly path: string;
  /** Why the fabric is not used, although the program asked for it. */
  readonly fallback: Error | undefined;
  /** Why the session has ended. */
  readonly error: Error | undefined;
  /** Called when the peer has opened a stream. */
  opened: ((stream: number, mode: number) => void) | undefined;
  /** Called when new sockets must not join the session: it closes with those that it has. */
  onRetire: (() => void) | undefined;
  /** Called when the session has ended. */
  onEnd: ((error: Error) => void) | undefined;
  isOfOneSocket: boolean;
  /** Whether it takes no more sockets when it was without any for a minute. Set before start(). */
  endsWhenIdle: boolean;
  start(): void;
  open(owner: StreamOwner, mode: number): number;
  adopt(stream: number, owner: StreamOwner): void;
  answer(stream: number, errno: number): void;
  write(stream: number, bytes: Uint8Array, from: number): number;
  take(stream: number): Buffer | null | undefined;
  takeInto(stream: number, into: Uint8Array, from: number): number;
  end(stream: number): void;
  destroy(stream: number, isCut?: boolean): void;
  reset(stream: number, errno: number): void;
  hold(change: 1 | -1): void;
  release(): void;
  /** Calls onRetire, and ends the session when nobody uses its streams any more. */
  retire(): void;
  close(): void;
  fail(error: Error): void;
  state(): NetSessionState;
  socketState(stream: number): NetSocketState | undefined;
}
