/**
 * Moves memory between machines over all their NICs.
 *
 * @module
 */

export type { Metrics } from '../diagnostics/prometheus.js';
export type { Access, RailState, TransferStats } from '../diagnostics/transfer-state.js';
export type { Arrival } from './arrival.js';

import './inspect.js';

export type { Reader } from '../base/arrivals.js';
export type {
  Directory,
  DirectoryEntry,
  PublishOptions,
  WatchOptions,
} from '../base/directory.js';
export type { Admit, NamedAddress, Origin } from '../base/origin.js';
export type {
  MemoryPoolState,
  MemoryPoolStats,
  OfferState,
  TransferEngineState,
  TransferState,
} from '../diagnostics/transfer-state.js';
export type {
  FallbackMessage,
  OfferArrivedMessage,
  OfferMessage,
  OfferReleasedMessage,
  PeerMessage,
  RailErrorMessage,
  RailMessage,
  TransferMessages,
} from './channels.js';
export type {
  EngineEvent,
  FallbackEvent,
  PeerEvent,
  RailErrorEvent,
  RailEvent,
} from './engine-events.js';
export { TransferError } from './errors.js';
export type { Group, GroupPart } from './group.js';
export type { MemoryLease } from './lease.js';
export type { PeerState } from './liveness.js';
export type { JoinOptions, Membership } from './membership.js';
export type { JoinedEvent, LostEvent, MembershipEvent } from './membership-events.js';
export type { MemoryPart, StreamRange, TransferMemory } from './memory.js';
export type { MemoryPool, MemoryPoolOptions } from './memory-pool.js';
export { transferMetrics } from './metrics.js';
export type { Notification } from './notifications.js';
export type { Offer, OfferOptions } from './offer.js';
export type { PeerOptions } from './peer-options.js';
export type { Pages, Pieces } from './pieces.js';
export type { Progress } from './progress.js';
export type { AllocateMemoryOptions, RegisterMemoryOptions } from './registration.js';
export type { RemoteEngine } from './remote-engine.js';
export type { RailReport, TransferReport } from './report.js';
export type { TransferEngineOptions } from './settings.js';
export type { FileRange } from './streams/file-range.js';
export type { IncomingStream, OutgoingStream } from './streams/own-streams.js';
export type { StreamReport } from './streams/run.js';
export type { StreamSource } from './streams/sources.js';
export type { IncomingOptions, OutgoingOptions, StreamOptions } from './streams/stream-options.js';
export type { TransferReadable } from './streams/transfer-readable.js';
export type { TransferWritable } from './streams/transfer-writable.js';
export type { Grant, GrantedFile, RailKey, TokenContent } from './token.js';
export type { TransferTraceMessage } from './tracing.js';
export type { Transfer } from './transfer.js';
export { TransferEngine } from './transfer-engine.js';
export type { TransferOptions } from './transfer-options.js';
