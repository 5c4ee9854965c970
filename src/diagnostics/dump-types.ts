import type { DriverKind } from '../base/drivers.js';
import type { EngineState } from '../contract/engine-state.js';
import type { Stats } from '../contract/layout.js';
import type { NetSessionState } from './net-state.js';
import type { TransferEngineState } from './transfer-state.js';

/** A domain and its objects in dumpState(). */
export interface DomainState {
  readonly fabric: string | null;
  readonly domain: string | null;
  readonly provider: string | null;
  readonly driver: DriverKind;
  readonly stats: Stats;
  /** JavaScript's requests that have not completed: operations, batches, waits. */
  readonly pending: number;
  /** Entries of 64 bytes that JavaScript has written and the engine has not read. */
  readonly unread: number;
  /** Completions that the engine has written and JavaScript has not read. */
  readonly undelivered: number;
  /**
   * Null if the engine did not release its lock within a second, because a provider call does not
   * return.
   */
  readonly engine: EngineState | null;
}

/** The resources of a closed domain that the provider still uses. */
export interface ParkedDomain {
  readonly provider: string;
  readonly domain: string;
  /**
   * The number of endpoints that are not closed yet: endpoints with shared memory that a peer in this process
   * still has in its address vector, and endpoints with operations that never end.
   */
  readonly endpoints: number;
  /**
   * The error with which the provider refused to close the domain: `'FI_EBUSY'`. Null if it was
   * closed.
   */
  readonly refused: string | null;
}

/** The result of dumpState(): plain values that JSON can represent. */
export interface LibraryState {
  /** ISO 8601. */
  readonly time: string;
  readonly pid: number;
  /** 0: the main thread. */
  readonly threadId: number;
  readonly nodeVersion: string;
  /** The version of libfabric, and the file it was loaded from. */
  readonly libraryVersion: string;
  readonly libraryPath: string | null;
  readonly domains: readonly DomainState[];
  /** The engines of libfabric/transfer. Their rails are also among the domains. */
  readonly transferEngines: readonly TransferEngineState[];
  /** The sessions of libfabric/net. Their endpoints are also among the domains. */
  readonly netSessions: readonly NetSessionState[];
  /** The parked domains of all threads of the process. */
  readonly parked: readonly ParkedDomain[];
}
