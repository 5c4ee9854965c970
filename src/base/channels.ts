// Events on node:diagnostics_channel. Without a subscriber an event costs one check of
// `hasSubscribers`.
import { type Channel, channel } from 'node:diagnostics_channel';
import type { DriverKind } from './drivers.js';
import type { FabricErrorCode } from './error-codes.js';

/** The types of objects that are opened and closed. */
export type ObjectType =
  | 'fabric'
  | 'domain'
  | 'endpoint'
  | 'completionQueue'
  | 'addressVector'
  | 'counter'
  | 'memoryRegion'
  | 'transferEngine'
  | 'netSession';

/** `libfabric:open` and `libfabric:close`. */
export interface LifecycleMessage {
  readonly type: ObjectType;
  /** The Fabric, Domain, Endpoint, TransferEngine, ..., or a session of libfabric/net. */
  readonly object: object;
}

/** `libfabric:backpressure`: operations are waiting for room. */
export interface BackPressureMessage {
  /** `'provider'`: the provider returned FI_EAGAIN. `'ring'`: the submission ring is full. */
  readonly by: 'provider' | 'ring';
  /** The number of times since the last message. */
  readonly times: number;
  /** Names of the domain's entry. */
  readonly domain: string | null;
  readonly provider: string | null;
  readonly driver: DriverKind;
}

/**
 * `libfabric:parked`: an object was closed, but the provider still uses resources of it. The
 * library keeps ("parks") these.
 */
export interface ParkedMessage {
  readonly type: 'endpoint' | 'domain';
  /** The Endpoint or Domain. */
  readonly object: object;
  /**
   * For an endpoint: operations that have not ended. Their memory stays in use (`released()`). The
   * endpoint is closed when they end, or parked with its domain.
   */
  readonly operations?: number;
  /** For a domain: endpoints with operations that never end. They remain until the process ends. */
  readonly endpoints?: number;
  /**
   * For a domain: the error with which the provider refused to close it, such as `'FI_EBUSY'`. Null
   * if it was closed.
   */
  readonly refused?: string | null;
}

const opened = channel('libfabric:open');
const ended = channel('libfabric:close');
const failed = channel('libfabric:error');
const parked = channel('libfabric:parked');

export const backPressure = channel('libfabric:backpressure') as Channel<
  unknown,
  BackPressureMessage
>;

export function publishOpen(type: ObjectType, object: object): void {
  if (opened.hasSubscribers) opened.publish({ type, object } satisfies LifecycleMessage);
}

export function publishClose(type: ObjectType, object: object): void {
  if (ended.hasSubscribers) ended.publish({ type, object } satisfies LifecycleMessage);
}

export function publishParked(message: ParkedMessage): void {
  if (parked.hasSubscribers) parked.publish(message);
}

let expected: string | undefined;

/** Makes a call that may fail with this code, after which another way is tried: it publishes no such error. */
export function expecting<T>(code: FabricErrorCode, call: () => T): T {
  expected = code;
  try {
    return call();
  } finally {
    expected = undefined;
  }
}

export function publishError(error: Error & { readonly code: string }): void {
  if (failed.hasSubscribers && error.code !== expected) failed.publish({ error });
}
