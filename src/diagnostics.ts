// node:diagnostics_channel: what happens, for whoever subscribes. Where nobody does, a look at
// `hasSubscribers` is all that it costs, and the path of operations does not even look.
import { type Channel, channel } from 'node:diagnostics_channel';
import type { DriverKind } from './engine/engine.js';
import type { FabricError } from './errors.js';

/** What is opened and closed. */
export type ObjectType =
  | 'fabric'
  | 'domain'
  | 'endpoint'
  | 'completionQueue'
  | 'addressVector'
  | 'counter'
  | 'memoryRegion';

/** `libfabric:open` and `libfabric:close`. */
export interface LifecycleMessage {
  readonly type: ObjectType;
  /** The Fabric, Domain, Endpoint, ... */
  readonly object: object;
}

/** `libfabric:error`: every FabricError, when it is made. */
export interface ErrorMessage {
  readonly error: FabricError;
}

/** `libfabric:backpressure`: operations wait for room. */
export interface BackPressureMessage {
  /** `'provider'`: it answered FI_EAGAIN; `'ring'`: the caller is ahead of the engine. */
  readonly by: 'provider' | 'ring';
  /** How often since the last message. */
  readonly times: number;
  /** Names of the domain's entry. */
  readonly domain: string | null;
  readonly provider: string | null;
  readonly driver: DriverKind;
}

/** `libfabric:parked`: what was closed, and keeps what the provider does not let go of. */
export interface ParkedMessage {
  readonly type: 'endpoint' | 'domain';
  /** The Endpoint or Domain. */
  readonly object: object;
  /**
   * Of an endpoint: operations that have not ended. Their memory stays with them (`released()`). The
   * endpoint is closed when they have, or parked with its domain.
   */
  readonly operations?: number;
  /** Of a domain: endpoints with operations that never end, which stay until the process does. */
  readonly endpoints?: number;
  /** Of a domain: why the provider refused to close it, `'FI_EBUSY'`; null where it did not. */
  readonly refused?: string | null;
}

/** The channels and what they carry. */
export interface DiagnosticsMessages {
  'libfabric:open': LifecycleMessage;
  'libfabric:close': LifecycleMessage;
  'libfabric:error': ErrorMessage;
  'libfabric:backpressure': BackPressureMessage;
  'libfabric:parked': ParkedMessage;
}

const opened = channel('libfabric:open');
const ended = channel('libfabric:close');
const failed = channel('libfabric:error');
const parked = channel('libfabric:parked');

/** @internal */
export const backPressure = channel('libfabric:backpressure') as Channel<
  unknown,
  BackPressureMessage
>;

/** @internal */
export function publishOpen(type: ObjectType, object: object): void {
  if (opened.hasSubscribers) opened.publish({ type, object } satisfies LifecycleMessage);
}

/** @internal */
export function publishClose(type: ObjectType, object: object): void {
  if (ended.hasSubscribers) ended.publish({ type, object } satisfies LifecycleMessage);
}

/** @internal */
export function publishParked(message: ParkedMessage): void {
  if (parked.hasSubscribers) parked.publish(message);
}

/** @internal */
export function publishError(error: FabricError): void {
  if (failed.hasSubscribers) failed.publish({ error } satisfies ErrorMessage);
}
