// The messages of the channels of node:diagnostics_channel.
import type { BackPressureMessage, LifecycleMessage, ParkedMessage } from '../base/channels.js';
import type { FabricError } from '../base/errors.js';
import type { TraceEvent } from '../base/trace.js';
import type { OperationTraceMessage } from '../endpoint/tracing.js';

export type {
  BackPressureMessage,
  LifecycleMessage,
  ObjectType,
  ParkedMessage,
} from '../base/channels.js';
export type { OperationTraceMessage } from '../endpoint/tracing.js';

/**
 * `libfabric:error`: every FabricError, when it is created. The package creates FabricErrors only for failed
 * calls and operations.
 */
export interface ErrorMessage {
  readonly error: FabricError;
}

/** The channels and their messages. */
export interface DiagnosticsMessages
  extends Record<`tracing:libfabric:operation:${TraceEvent}`, OperationTraceMessage> {
  'libfabric:open': LifecycleMessage;
  'libfabric:close': LifecycleMessage;
  'libfabric:error': ErrorMessage;
  'libfabric:backpressure': BackPressureMessage;
  'libfabric:parked': ParkedMessage;
}
