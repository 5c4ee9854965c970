// The messages of the channels of node:diagnostics_channel.
import type { BackPressureMessage, LifecycleMessage, ParkedMessage } from '../base/channels.js';
import type { FabricError } from '../base/errors.js';

export type {
  BackPressureMessage,
  LifecycleMessage,
  ObjectType,
  ParkedMessage,
} from '../base/channels.js';

/**
 * `libfabric:error`: every FabricError, when it is created. The package creates FabricErrors only for failed
 * calls and operations.
 */
export interface ErrorMessage {
  readonly error: FabricError;
}

/** The channels and their messages. */
export interface DiagnosticsMessages {
  'libfabric:open': LifecycleMessage;
  'libfabric:close': LifecycleMessage;
  'libfabric:error': ErrorMessage;
  'libfabric:backpressure': BackPressureMessage;
  'libfabric:parked': ParkedMessage;
}
