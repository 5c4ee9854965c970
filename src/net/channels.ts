// Events of libfabric/net on node:diagnostics_channel.
import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { TraceMessage } from '../base/trace.js';
import type { NetSessionState } from '../diagnostics/net-state.js';

/** `libfabric:net:fallback`: packets travel over TCP from now on. */
export interface FallbackMessage {
  readonly session: NetSessionState;
  readonly error: Error;
}

/** `libfabric:net:nicLost`: packets travel over the other NICs from now on. */
export interface NicLostMessage extends FallbackMessage {
  /** The name of its domain. */
  readonly nic: string;
}

/** `tracingChannel('libfabric:net:connect')`: connect() opens a session. Sockets that join a session open none. */
export interface ConnectTraceMessage extends TraceMessage<NetSessionState> {
  /** Undefined for a Unix socket. */
  readonly host?: string;
  readonly port?: number;
  /** Of a Unix socket. */
  readonly path?: string;
  /** Undefined for a session over TCP. */
  readonly provider: string | undefined;
}

export const tracedConnects = tracingChannel<ConnectTraceMessage, ConnectTraceMessage>(
  'libfabric:net:connect',
);

const fallback = channel('libfabric:net:fallback');
const nicLost = channel('libfabric:net:nicLost');

export function publishFallback(message: FallbackMessage): void {
  if (fallback.hasSubscribers) fallback.publish(message);
}

export function publishNicLost(message: NicLostMessage): void {
  if (nicLost.hasSubscribers) nicLost.publish(message);
}
