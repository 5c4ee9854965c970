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

/** The channels and what they carry. */
export interface DiagnosticsMessages {
  'libfabric:open': LifecycleMessage;
  'libfabric:close': LifecycleMessage;
  'libfabric:error': ErrorMessage;
  'libfabric:backpressure': BackPressureMessage;
}

const opened = channel('libfabric:open');
const ended = channel('libfabric:close');
const failed = channel('libfabric:error');

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
export function publishError(error: FabricError): void {
  if (failed.hasSubscribers) failed.publish({ error } satisfies ErrorMessage);
}
