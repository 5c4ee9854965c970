import type { TransferStats } from './activity.js';
import type { RailState } from './rails.js';
import type { Access } from './token.js';

/** A transfer in dumpState(). */
export interface TransferState {
  readonly access: Access;
  /** The identity of the peer's engine. */
  readonly peer: string;
  readonly priority: 'high' | 'normal' | 'low';
  /** `'ending'`: it has failed or has every byte, and copies of slices are under way. */
  readonly state: 'running' | 'ending';
  /** Bytes. */
  readonly done: number;
  readonly total: number;
  readonly seconds: number;
  readonly retries: number;
}

/** An offer in dumpState(). */
export interface OfferState {
  readonly access: Access;
  /** The identity of the peer's engine. */
  readonly peer: string;
  readonly bytes: number;
  readonly repeat: boolean;
  /** `'ending'`: closed or expired, and copies may still arrive. */
  readonly state: 'open' | 'ending';
  /** How often all bytes have arrived. */
  readonly arrivals: number;
  /** Milliseconds until it expires, negative if it has. */
  readonly expiresIn: number;
}

/** A transfer engine in dumpState(). */
export interface TransferEngineState {
  readonly id: string;
  readonly rails: readonly RailState[];
  readonly peers: readonly {
    readonly id: string;
    readonly rails: number;
    readonly state: 'up' | 'lost';
  }[];
  readonly places: {
    readonly count: number;
    readonly bytes: number;
  };
  readonly stats: TransferStats;
  /** The first 1000 that run. `stats` has the number of all. */
  readonly transfers: readonly TransferState[];
  /** The first 1000 that are open. */
  readonly offers: readonly OfferState[];
}
