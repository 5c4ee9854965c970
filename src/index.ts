/**
 * libfabric for Node.js: endpoints, memory regions, address vectors and completion queues. Start
 * with `open()`.
 *
 * @module libfabric
 */
import { dumpIfRequested } from './dump-on-signal.js';
import './inspect.js';

export { AddressVector, type AddressVectorOptions } from './address-vector.js';
export type { BatchBase, BatchUpdate, RoundOptions, RunOptions } from './batch.js';
export { Completion } from './completion.js';
export {
  CompletionQueue,
  type CompletionQueueOptions,
  type QueueEntry,
} from './completion-queue.js';
export { Counter, type CounterEvents, type CounterOptions } from './counter.js';
export type {
  DeviceAccess,
  DeviceMemory,
  DmabufMemory,
  HmemMemory,
  HmemType,
} from './device-memory.js';
export {
  type CudaArray,
  type CudaArrayInterface,
  type DeviceMemoryOptions,
  type DeviceMemorySource,
  type DLManagedTensor,
  type DLTensor,
  deviceMemoryOf,
  type Integers,
  type OnnxTensor,
} from './device-memory-of.js';
export type * from './diagnostics.js';
export { Domain } from './domain.js';
export type { DomainOptions } from './domain-options.js';
export { dumpState } from './dump.js';
export { type DumpOnSignalOptions, dumpOnSignal } from './dump-on-signal.js';
export type * from './dump-types.js';
export type { EfaQueries } from './efa-queries.js';
export { type EfaStatus, efaStatus } from './efa-statuses.js';
export type {
  EfaAddr,
  EfaCqAttr,
  EfaFeature,
  EfaMrAttr,
  EfaQpWqs,
  EfaWqAttr,
} from './efa-types.js';
export { type EfaVariables, efaVariables, setEfaVariables } from './efa-variables.js';
export type { AtomicCalls, AtomicKind, AtomicOptions } from './endpoint/atomic.js';
export type { CloseOptions } from './endpoint/close-options.js';
export type {
  AtomicQuery,
  Batch,
  Calls,
  Endpoint,
  MultiReceiving,
  Post,
  Receiving,
} from './endpoint/compose.js';
export type { EndpointBase } from './endpoint/endpoint.js';
export type { Message, Messages } from './endpoint/messages.js';
export type { MessagesOptions, MultiRecvOptions } from './endpoint/messages-options.js';
export type { MsgRecv, MsgSend } from './endpoint/msg.js';
export type { MultiRecv, MultiRecvMessage } from './endpoint/multi-recv.js';
export type { EndpointOptions } from './endpoint/opening-options.js';
export type { Direction, QueuedCalls } from './endpoint/queued.js';
export type { RemoteSegment } from './endpoint/remote-pieces.js';
export type { RmaOptions, RmaRead, RmaVectorOptions, RmaWrite } from './endpoint/rma.js';
export type { StreamOptions } from './endpoint/stream.js';
export type { Tag, TaggedRecv, TaggedRecvOptions, TaggedSend } from './endpoint/tagged.js';
export type { OperationOptions, Source, VectorOptions } from './endpoint/target.js';
export type { WritableOptions } from './endpoint-option-values.js';
export {
  type EndpointOption,
  endpointOptions,
  type OptionSpec,
  type OptionValue,
  type OptionValues,
  type ReadableOption,
  type WritableOption,
} from './endpoint-options.js';
export type { DriverKind, Stats } from './engine/engine.js';
export type { Buffers, RegisteredBytes } from './engine/memory.js';
export { errnoByCode, type FabricErrorCode } from './error-codes.js';
export { FabricError, type FabricErrorDetails } from './errors.js';
export { Fabric } from './fabric.js';
export type * from './flags.js';
export type { Asked, CapsOf, EpTypeOf, Hints } from './hints.js';
export type { Immediate, Immediates, ImmediatesOptions } from './immediates.js';
export { getInfo, infoToString, providers } from './info.js';
export type * from './info-types.js';
export {
  getParams,
  libraryPath,
  strerror,
  type Version,
  version,
} from './library.js';
export { MemoryRegion, RegionSlice } from './memory-region.js';
export { type Counted, type OpenOptions, open } from './open.js';
export type { Openable } from './openable.js';
export { Peer } from './peer.js';
export type { AllocateOptions } from './registration.js';
export { type RegionDescription, RemoteRegion } from './remote-region.js';
export type { WaitOptions } from './wait-options.js';

dumpIfRequested();

export { released } from './released.js';
export type {
  RoundByte,
  RoundCounter,
  RoundEvent,
  RoundEventOptions,
  RoundImmediates,
} from './round-events.js';
