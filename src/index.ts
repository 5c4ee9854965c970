/**
 * libfabric for Node.js: endpoints, memory regions, address vectors and completion queues. Start
 * with `open()`.
 *
 * @module libfabric
 */
import { dumpIfRequested } from './diagnostics/dump-on-signal.js';
import './diagnostics/inspect.js';

export { AddressVector, type AddressVectorOptions } from './address-vector.js';
export { errnoByCode, type FabricErrorCode } from './base/error-codes.js';
export { FabricError, type FabricErrorDetails } from './base/errors.js';
export type * from './base/flags.js';
export { Peer } from './base/peer.js';
export { released } from './base/released.js';
export type { WaitOptions } from './base/wait-options.js';
export {
  CompletionQueue,
  type CompletionQueueOptions,
  type QueueEntry,
} from './completion-queue.js';
export type * from './contract/engine-state.js';
export type * from './contract/info-types.js';
export { Counter, type CounterEvents, type CounterOptions } from './counter.js';
export type * from './diagnostics/diagnostics.js';
export { dumpState } from './diagnostics/dump.js';
export { type DumpOnSignalOptions, dumpOnSignal } from './diagnostics/dump-on-signal.js';
export type * from './diagnostics/dump-types.js';
export { Domain } from './domain.js';
export type { DomainOptions } from './domain-options.js';
export type { AtomicCalls, AtomicKind, AtomicOptions } from './endpoint/atomic.js';
export type { BatchBase, BatchUpdate, RoundOptions, RunOptions } from './endpoint/batch.js';
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
export type { WritableOptions } from './endpoint/endpoint-option-values.js';
export {
  type EndpointOption,
  endpointOptions,
  type OptionSpec,
  type OptionValue,
  type OptionValues,
  type ReadableOption,
  type WritableOption,
} from './endpoint/endpoint-options.js';
export type { Message, Messages } from './endpoint/messages.js';
export type { MessagesOptions, MultiRecvOptions } from './endpoint/messages-options.js';
export type { MsgRecv, MsgSend } from './endpoint/msg.js';
export type { MultiRecv, MultiRecvMessage } from './endpoint/multi-recv.js';
export type { EndpointOptions } from './endpoint/opening-options.js';
export type { Direction, QueuedCalls } from './endpoint/queued.js';
export type { RemoteSegment } from './endpoint/remote-pieces.js';
export type { RmaRead, RmaWrite } from './endpoint/rma.js';
export type { RmaOptions, RmaVectorOptions } from './endpoint/rma-options.js';
export type {
  RoundByte,
  RoundCounter,
  RoundEvent,
  RoundEventOptions,
  RoundImmediates,
} from './endpoint/round-events.js';
export type { Tag, TaggedRecv, TaggedRecvOptions, TaggedSend } from './endpoint/tagged.js';
export type { OperationOptions, Source, VectorOptions } from './endpoint/target.js';
export { Completion } from './engine/completion.js';
export type { DriverKind, Stats } from './engine/engine.js';
export type { Buffers, DeviceAccess, RegisteredBytes } from './engine/memory.js';
export type { StreamOptions } from './engine/stream.js';
export { Fabric } from './fabric.js';
export type { Immediate, Immediates, ImmediatesOptions } from './immediates.js';
export type { Asked, CapsOf, EpTypeOf, Hints } from './info/hints.js';
export { getInfo, infoToString, providers } from './info/info.js';
export {
  getParams,
  libraryPath,
  strerror,
  type Version,
  version,
} from './info/library.js';
export type { Openable } from './info/openable.js';
export type { DeviceMemory, DmabufMemory, HmemMemory, HmemType } from './memory/device-memory.js';
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
} from './memory/device-memory-of.js';
export { MemoryRegion, RegionSlice } from './memory/memory-region.js';
export type { AllocateOptions, RegisterOptions } from './memory/registration.js';
export { type RegionDescription, RemoteRegion } from './memory/remote-region.js';
export { type Counted, type OpenOptions, open } from './open.js';

dumpIfRequested();
