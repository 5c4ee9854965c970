export { AddressVector, type AddressVectorOptions, type RemoveOptions } from './address-vector.js';
export type { BatchUpdate } from './batch.js';
export { Completion } from './completion.js';
export {
  CompletionQueue,
  type CompletionQueueOptions,
  type QueueEntry,
} from './completion-queue.js';
export { Counter } from './counter.js';
export { type AllocateOptions, Domain, type DomainOptions } from './domain.js';
export type { AtomicKind, AtomicOptions } from './endpoint/atomic.js';
export type { Batch, Endpoint } from './endpoint/compose.js';
export type { CloseOptions, EndpointOptions } from './endpoint/endpoint.js';
export type {
  Message,
  Messages,
  MessagesOptions,
  MultiRecv,
  MultiRecvMessage,
} from './endpoint/messages.js';
export type { RmaOptions } from './endpoint/rma.js';
export type { TaggedRecvOptions } from './endpoint/tagged.js';
export type { OperationOptions, Source } from './endpoint/target.js';
export type { WritableOptions } from './endpoint-option-values.js';
export {
  type EndpointOption,
  endpointOptions,
  type OptionSpec,
  type OptionValue,
} from './endpoint-options.js';
export type { DriverKind, Stats } from './engine/engine.js';
export type { Buffers } from './engine/memory.js';
export { errnoByCode, type FabricErrorCode } from './error-codes.js';
export { FabricError, type FabricErrorDetails } from './errors.js';
export { Fabric } from './fabric.js';
export type * from './flags.js';
export type { Asked, CapsOf, EpTypeOf, Hints } from './hints.js';
export type { Immediate, Immediates } from './immediates.js';
export { getInfo, infoToString, providers } from './info.js';
export type * from './info-types.js';
export {
  getParams,
  libraryPath,
  type Param,
  strerror,
  type Version,
  version,
} from './library.js';
export { MemoryRegion, RegionSlice } from './memory-region.js';
export { type OpenOptions, open } from './open.js';
export { Peer } from './peer.js';
export { type RegionDescription, RemoteRegion } from './remote-region.js';
