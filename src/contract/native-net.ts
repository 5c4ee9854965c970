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
}

/** EventKind of native/net/session.h. */
export const NetEvent = {
  Opened: 1,
  Accepted: 2,
  Refused: 3,
  Readable: 4,
  Writable: 5,
  Reset: 6,
} as const;

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
  /** Ends both sides: with a reset if the peer's bytes were not all taken. */
  netDestroy(session: Handle<'Session'>, stream: number): void;
  netReset(session: Handle<'Session'>, stream: number, error: number): void;
  /** The bytes that have arrived, null at the end. If it returns undefined, Readable follows. */
  netTake(session: Handle<'Session'>, stream: number): Buffer | null | undefined;
  /** Whether the peer has ended its side. Bytes from before may still be there to be taken. */
  netHasPeerEnded(session: Handle<'Session'>, stream: number): boolean;
  /** Kind, stream and value of each event since the last call. */
  netEvents(session: Handle<'Session'>): Uint32Array | undefined;
  /** About `most` bytes of packets to send. */
  netPackets(session: Handle<'Session'>, most: number): Buffer | undefined;
  /** Writes the next packet to send into memory, from an offset on. Returns its length, 0 if there is none. */
  netPacket(session: Handle<'Session'>, into: Uint8Array, from: number): number;
  /** Takes a packet of the peer. Returns why the peer has broken the protocol, if it has. */
  netTakePacket(session: Handle<'Session'>, bytes: Uint8Array): string | undefined;
  /** Takes bytes of the peer's packets. Returns why the peer has broken the protocol, if it has. */
  netReceive(session: Handle<'Session'>, bytes: Uint8Array): string | undefined;
  /** Makes the next packets acknowledge what has arrived. */
  netAcknowledge(session: Handle<'Session'>): void;
  /** Makes the next packets repeat those that were not acknowledged. */
  netAgain(session: Handle<'Session'>): void;
  /** Packets that the peer has not acknowledged. */
  netUnacknowledged(session: Handle<'Session'>): number;
  netCounts(session: Handle<'Session'>): NetCounts;
}

export interface NetCounts {
  readonly streams: number;
  /** Packets that the peer has not acknowledged. */
  readonly unacknowledged: number;
  /** Whether the peer has no room for packets. */
  readonly waitsForPeer: boolean;
}
