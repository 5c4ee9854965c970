// The part of the contract that libfabric/net uses: native/net/session.h describes sessions.
import type { Handle } from './handles.js';

/** The parameters that both sides of a session agree on. */
export interface NativeAgreement {
  /** 16 bytes. */
  readonly secret: Uint8Array;
  /** The number of the session at this side, and at the peer. */
  readonly session: number;
  readonly peerSession: number;
  /** Whether this side opens the streams with odd numbers. */
  readonly first: boolean;
  /** The most bytes of a packet. */
  readonly packetSize: number;
  /** Packets that this side has room for, and the peer. */
  readonly allowance: number;
  readonly peerAllowance: number;
  /** Bytes that a new stream has room for at this side, and at the peer. */
  readonly window: number;
  readonly peerWindow: number;
  /** Bytes that a stream of this side has room for at most. */
  readonly maxWindow: number;
  readonly maxStreams: number;
  /** Whether each side reads long bytes from the memory of the other. */
  readonly reads: boolean;
}

/** EventKind of native/net/session.h. */
export const NetEvent = {
  Opened: 1,
  Accepted: 2,
  Refused: 3,
  Readable: 4,
  Writable: 5,
  Reset: 6,
  /** The peer has everything that was sent. */
  Delivered: 7,
  /** The peer has broken the protocol. */
  Broken: 8,
  /** The link `stream` is lost, with the error number `value` of libfabric, or was left. */
  LinkLost: 9,
  /** It works again. */
  LinkFound: 10,
  /** The peer has answered netAsk(). */
  Answered: 11,
  /** The peer has closed the session. */
  Left: 12,
} as const;

/** Limits of native/net/port.h, in milliseconds, and more. */
export interface NativePortOptions {
  /** The request that completes partially when sessions have events. */
  readonly watch: number;
  /** The most bytes of a packet. */
  readonly packetSize: number;
  /** Whether peers may read the memory of packets. */
  readonly reads: boolean;
  readonly heartbeat: number;
  readonly silence: number;
}

/** native/js/net.cc */
export interface NativeNet {
  netSession(agreement: NativeAgreement): Handle<'Session'>;
  /** Opens a stream. Returns its number, 0 if there are too many. */
  netOpen(session: Handle<'Session'>, mode: number): number;
  /** Answers a stream that the peer has opened. `error` is 0 to accept it. */
  netAnswer(session: Handle<'Session'>, stream: number, error: number): void;
  /** Accepts bytes from `from` on, and returns how many. If fewer than all, Writable follows. */
  netWrite(session: Handle<'Session'>, stream: number, bytes: Uint8Array, from: number): number;
  /** Ends this side. */
  netEnd(session: Handle<'Session'>, stream: number): void;
  /** Ends both sides after the accepted bytes: with a reset if the peer's bytes were not all taken, or if `isCut`. */
  netDestroy(session: Handle<'Session'>, stream: number, isCut: boolean): void;
  netReset(session: Handle<'Session'>, stream: number, error: number): void;
  /**
   * The bytes that have arrived, null at the end. If it returns undefined, Readable follows. An ArrayBuffer is the memory
   * where they have arrived.
   */
  netTake(session: Handle<'Session'>, stream: number): Buffer | ArrayBuffer | null | undefined;
  /**
   * Writes bytes that have arrived into memory, from an offset on. Returns their number, -1 at the end. If it returns 0,
   * Readable follows.
   */
  netTakeInto(session: Handle<'Session'>, stream: number, into: Uint8Array, from: number): number;
  /** Whether the peer has ended its side. Bytes from before may still be there to be taken. */
  netHasPeerEnded(session: Handle<'Session'>, stream: number): boolean;
  /** Kind, stream and value of each event since the last call. */
  netEvents(session: Handle<'Session'>): Uint32Array | undefined;
  /** About `most` bytes of packets to send over the control connection. */
  netPackets(session: Handle<'Session'>, most: number): Buffer | undefined;
  /** Takes bytes of the peer's packets. Returns why the peer has broken the protocol, if it has. */
  netReceive(session: Handle<'Session'>, bytes: Uint8Array): string | undefined;
  /** Makes the next packets acknowledge what has arrived. */
  netAcknowledge(session: Handle<'Session'>): void;
  /** Asks the peer for a sign of life: Answered follows. The caller sends it. */
  netAsk(session: Handle<'Session'>): void;
  /** Tells the peer that the session is closed. The caller sends it. */
  netGoodbye(session: Handle<'Session'>): void;
  /** For tests: makes the next packets repeat those of netPackets() that were not acknowledged. */
  netAgain(session: Handle<'Session'>): void;
  /** Whether the peer has everything that was written. If not, Delivered follows. */
  netIsDelivered(session: Handle<'Session'>): boolean;
  /** Why the peer has broken the protocol. */
  netWhy(session: Handle<'Session'>): string;
  netCounts(session: Handle<'Session'>): NetCounts;
  /** Of all streams, or of one if `stream` is not 0. */
  netStreams(session: Handle<'Session'>, stream: number): NetStreamCounts[];

  /** native/js/net_ports.cc: makes an endpoint carry the packets of sessions. */
  netPort(
    domain: Handle<'Domain'>,
    endpoint: Handle<'Endpoint'>,
    options: NativePortOptions,
  ): Handle<'Port'>;
  /** Keeps the packets of a session until netCarry(). Returns false if there is no room for more sessions. */
  netExpect(port: Handle<'Port'>, session: number, allowance: number): boolean;
  /** Carries the packets of a session to a peer. */
  netCarry(port: Handle<'Port'>, session: Handle<'Session'>, peer: number, link: number): void;
  netLeave(port: Handle<'Port'>, session: number): void;
  /** Sends the packets that a session has. */
  netSend(port: Handle<'Port'>, session: number): void;
  /** Session, kind, stream and value of each event since the last call. */
  netPortEvents(port: Handle<'Port'>): Uint32Array;
}

export interface NetCounts {
  readonly streams: number;
  /** Packets that the peer has not acknowledged. */
  readonly unacknowledged: number;
  /** Whether the peer has no room for packets. */
  readonly waitsForPeer: boolean;
}

export interface NetStreamCounts {
  readonly stream: number;
  readonly mode: number;
  /** Bytes that were written and wait. */
  readonly unsent: number;
  /** Bytes that the peer has room for. */
  readonly window: number;
  /** Bytes that have arrived and were not read. */
  readonly unread: number;
}
