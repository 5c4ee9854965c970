/** What a socket of libfabric/net waits for, null if nothing. */
export type NetWait =
  /** Bytes have arrived, and this side does not read them. */
  | 'reader'
  /** The peer does not read: its window is full. */
  | 'window'
  /** The peer has no room for packets of this session. */
  | 'credits'
  /** Packets are on their way to the NIC. */
  | 'nic'
  | null;

/** A socket of libfabric/net: `socket.stats()`. */
export interface NetSocketState {
  readonly mode: 'bytes' | 'messages';
  readonly waitsFor: NetWait;
  /** Bytes that were written and have not left. */
  readonly unsent: number;
  /** Bytes that the peer has room for. */
  readonly window: number;
  /** Bytes that have arrived and were not read. */
  readonly unread: number;
}

/** A session of libfabric/net in dumpState(): the connection of two processes, which many sockets share. */
export interface NetSessionState {
  /** Its number among the sessions of the thread, from 1. */
  readonly number: number;
  readonly remoteAddress: string | null;
  readonly remotePort: number | null;
  /** The provider whose endpoints carry its packets, or `'control'`: they travel over TCP or TLS. */
  readonly path: string;
  /** Why they do, although the program asked for the fabric. */
  readonly fallback: string | null;
  /** The control connection. `'asking'`: it has ended, and the peer has not shown yet that it is alive. */
  readonly control: 'open' | 'asking' | 'lost';
  readonly nics: readonly { readonly nic: string; readonly state: 'up' | 'lost' }[];
  /** Packets that the peer has not acknowledged. */
  readonly unacknowledged: number;
  readonly socketCount: number;
  /** The first 1000 sockets. */
  readonly sockets: readonly NetSocketState[];
}

/** An open session, for dumps and metrics. */
export interface OpenNetSession {
  state(): NetSessionState;
}

/** The open sessions of this thread, in the order in which they were agreed. */
export const netSessions = new Set<OpenNetSession>();
