/**
 * Streams between Node.js services, used as those of node:net are.
 *
 * @module
 */
export type { Admit, NamedAddress, Origin } from '../base/origin.js';
export type { NetSessionState, NetSocketState, NetWait } from '../diagnostics/net-state.js';
export type { Metrics } from '../diagnostics/prometheus.js';
export { FabricAgent, type FabricAgentOptions } from './agent.js';
export { type Attachment, type AttachOptions, attach } from './attach.js';
export type { ConnectTraceMessage, FallbackMessage, NicLostMessage } from './channels.js';
export type { ControlOptions } from './control-connection.js';
export type { ConnectionError } from './errors.js';
export { FabricSocket } from './fabric-socket.js';
export { MessageSocket, type MessageSocketOptions } from './message-socket.js';
export { netMetrics } from './metrics.js';
export type { OnRead } from './onread.js';
export type { Address } from './peer-info.js';
export type { Heartbeat, PortOptions } from './port.js';
export type { FabricOptions } from './ports.js';
export type { ReceiveOptions } from './receive-options.js';
export { createServer, FabricServer, type ListenArguments, type ServerOptions } from './server.js';
export type { SessionLimits } from './server-sessions.js';
export type { MessageEvents, ServerEvents, SocketEvents } from './socket-events.js';
export type { ConnectOptions, FabricSocketOptions } from './socket-options.js';
export {
  type ConnectArguments,
  connect,
  type MessageConnectOptions,
  type UpgradeOptions,
  upgrade,
} from './sockets.js';
