import type { EngineState } from './dump-types.js';
import type { EfaAddr, EfaCqAttr, EfaMrAttr, EfaQpWqs } from './efa-types.js';
import { type FabricError, makeFabricError, startAtCaller } from './errors.js';
import type { Param } from './library.js';
import { loadAddon } from './load.js';

declare const handleOf: unique symbol;

/** A native object, opaque; the addon checks its type tag. */
export type Handle<Name extends string> = { readonly [handleOf]: Name };

export type NativeInfo = Handle<'Info'>;

/** The contract with native/: every function throws FabricError or an error of misuse. */
export interface NativeAddon
  extends NativeDiscovery,
    NativeNames,
    NativeObjects,
    NativeMemory,
    NativeSlots,
    NativeBatches,
    NativeEfa {
  initialize(make: typeof makeFabricError): void;
  /** As it is: its functions are called too often to go through anything. They throw nothing. */
  readonly engine: NativeEngine;
}

/** native/info.cc */
export interface NativeDiscovery {
  version(): { number: number; header: number; api: number; string: string };
  libraryPath(): string | null;
  strerror(errno: number): string;
  /** null: fi_getinfo without hints. */
  getinfo(hints?: unknown): [data: object, handle: NativeInfo][];
  query(hints: unknown): [data: object, handle: NativeInfo][];
  infoToString(info: NativeInfo): string;
  getparams(): Param[];
}

/** native/flags.cc */
export interface NativeNames {
  nameTables(): {
    readonly flags: Readonly<Record<string, Readonly<Record<string, bigint>>>>;
    readonly enums: Readonly<Record<string, Readonly<Record<string, bigint>>>>;
  };
  namesFromBits(table: string, bits: bigint): readonly string[];
  bitsFromNames(table: string, names: readonly string[]): bigint;
  nearestNames(wrong: string, names: readonly string[]): string;
}

/** The rings of a domain's engine: native/domain.cc. */
export interface NativeDomain {
  readonly handle: Handle<'Domain'>;
  /** For the functions of NativeEngine. */
  readonly number: number;
  readonly control: ArrayBuffer;
  readonly submissions: ArrayBuffer;
  readonly completions: ArrayBuffer;
}

/** What a domain's engine is told all the time; nothing, where it has ended: native/domain.cc. */
export interface NativeEngine {
  /** One turn of the engine. */
  turn(domain: number): void;
  /** Turns until control.waitCount completions are there or the time is over. */
  wait(domain: number): void;
  /** Submits the batch of control.runBatch and turns until it has ended or the time is over. */
  run(domain: number): void;
  /** The batch of run() goes on as request control.waitCount. */
  adopt(domain: number): void;
  /** There are submissions and the engine sleeps. */
  wake(domain: number): void;
  /** Keeps the event loop alive until control.pending is 0. */
  ref(domain: number): void;
  /** Lets the engine's thread make room in the ring. */
  yield(domain: number): void;
}

/** The rest of a fi_cq_err_entry: native/engine/failures.cc. */
export interface NativeFailedCompletion {
  readonly flags: bigint;
  readonly len: number;
  readonly olen: number;
  readonly data: bigint;
  readonly tag: bigint;
  readonly errData?: Uint8Array;
}

export interface NativeOption {
  readonly level: number;
  readonly name: number;
  readonly value: Uint8Array;
}

/** native/{fabric,domain,address_vector,address_insertion,completion_queue,counter,endpoint}.cc */
export interface NativeObjects {
  fabricOpen(info: NativeInfo): Handle<'Fabric'>;
  fabricClose(fabric: Handle<'Fabric'>): void;

  domainOpen(
    fabric: Handle<'Fabric'>,
    info: NativeInfo,
    options: { driver: string; affinity: readonly number[]; spin: number; idle: number },
    drain: () => void,
  ): NativeDomain;
  /** How many endpoints could not be closed, and the errno with which the domain was refused, or 0. */
  /** Whether a call of the provider may not take so long. */
  domainOverdue(domain: Handle<'Domain'>, milliseconds: number): boolean;
  /** Has the driver stop. Milliseconds to wait for that: 0 when it has, less when it is overdue. */
  domainStop(domain: Handle<'Domain'>): number;
  domainClose(domain: Handle<'Domain'>): { endpoints: number; refused: number };
  /** native/domain_state.cc */
  parkedDomains(): {
    provider: string;
    domain: string;
    endpoints: number;
    refused: number;
  }[];
  domainState(
    domain: Handle<'Domain'>,
    operations: number,
    patience: number,
  ): EngineState | undefined;
  takeError(
    domain: Handle<'Domain'>,
    key: number,
  ): {
    syscall: string;
    text: string;
    provErrno: number;
    /** Within its batch. */
    index?: number;
    /** Handle in the engine's table. */
    peer?: number;
    provider: string;
    broken: boolean;
    /** What fi_cq_readerr(3) told, where it was asked. */
    completion?: NativeFailedCompletion;
  };

  avOpen(
    domain: Handle<'Domain'>,
    options: { type: string; count: number },
  ): Handle<'AddressVector'>;
  avInsert(av: Handle<'AddressVector'>, address: Uint8Array): number;
  avInsertMany(
    av: Handle<'AddressVector'>,
    addresses: Uint8Array,
    ends: Uint32Array,
  ): Promise<{ peers: Uint32Array; error?: FabricError }>;
  avInsertService(av: Handle<'AddressVector'>, node: string, service: string): Promise<number>;
  avLookup(av: Handle<'AddressVector'>, peer: number): Uint8Array;
  avStraddr(av: Handle<'AddressVector'>, address: Uint8Array): string;
  avClose(av: Handle<'AddressVector'>): void;

  cqOpen(
    domain: Handle<'Domain'>,
    options: { size: number; format: string | undefined; wait: boolean },
  ): {
    handle: Handle<'CompletionQueue'>;
    queue: number;
    size: number;
    tagged: boolean;
    waitable: boolean;
  };
  cqExpect(
    cq: Handle<'CompletionQueue'>,
    value: number | bigint,
    count: number,
    request: number,
  ): void;
  cqStream(cq: Handle<'CompletionQueue'>, limit: number): void;
  cqCount(cq: Handle<'CompletionQueue'>, values: BigUint64Array): void;
  cqForget(cq: Handle<'CompletionQueue'>): { counted: number; lost: number };
  cqClose(cq: Handle<'CompletionQueue'>): void;

  counterOpen(domain: Handle<'Domain'>, bytes: boolean): Handle<'Counter'>;
  counterRead(counter: Handle<'Counter'>): bigint;
  counterReadErr(counter: Handle<'Counter'>): bigint;
  counterAdd(counter: Handle<'Counter'>, value: number | bigint): void;
  counterSet(counter: Handle<'Counter'>, value: number | bigint): void;
  counterWait(counter: Handle<'Counter'>, threshold: number | bigint, request: number): void;
  counterClose(counter: Handle<'Counter'>): void;

  endpointOpen(
    domain: Handle<'Domain'>,
    info: NativeInfo,
    options: {
      av: Handle<'AddressVector'>;
      sendQueue: Handle<'CompletionQueue'>;
      receiveQueue: Handle<'CompletionQueue'>;
      counters: readonly { counter: Handle<'Counter'>; flags: readonly string[] }[];
      options: readonly NativeOption[];
      staging: boolean;
    },
  ): {
    handle: Handle<'Endpoint'>;
    endpoint: number;
    address: Uint8Array;
    remoteData: number;
    ownFlags: bigint;
  };
  endpointGetOption(ep: Handle<'Endpoint'>, level: number, name: number, size: number): Uint8Array;
  endpointSetOption(ep: Handle<'Endpoint'>, options: readonly NativeOption[]): void;
  endpointAtomicQuery(
    ep: Handle<'Endpoint'>,
    operands: 1 | 2 | 3,
    datatype: string,
    op: string,
  ): { count: number; size: number; datatype: number; op: number };
}

export interface NativeRegion {
  readonly memory: number;
  readonly key: bigint;
  readonly address: bigint;
}

/** native/memory_region.cc */
export interface NativeMemory {
  memoryRegister(
    domain: Handle<'Domain'>,
    bytes: Uint8Array,
    access: readonly string[],
  ): Promise<NativeRegion>;
  memoryAllocate(
    domain: Handle<'Domain'>,
    length: number,
    access: readonly string[],
    hugePages: boolean,
    shared: boolean,
  ): Promise<NativeRegion & { buffer: ArrayBufferLike; hugePages: boolean }>;
  memoryAdopt(domain: Handle<'Domain'>, bytes: Uint8Array): number;
  memoryForget(domain: Handle<'Domain'>, memory: number): void;
  memoryRead(domain: Handle<'Domain'>, memory: number, offset: number, length: number): ArrayBuffer;
  memoryBuffer(domain: Handle<'Domain'>, memory: number): ArrayBuffer;
  remoteAdd(domain: Handle<'Domain'>, address: bigint, key: bigint, length: bigint): number;
  remoteForget(domain: Handle<'Domain'>, remote: number): void;
}

/** native/slots.cc */
export interface NativeSlots {
  slotsCreate(
    domain: Handle<'Domain'>,
    count: number,
    size: number,
  ): { handles: Uint32Array; buffers: ArrayBuffer[] };
  slotsForget(domain: Handle<'Domain'>, handles: Uint32Array): void;
}

/** native/efa.cc */
export interface NativeEfa {
  efaQueryMr(domain: Handle<'Domain'>, memory: number): EfaMrAttr;
  efaGetMrLkey(domain: Handle<'Domain'>, memory: number): bigint;
  efaQueryAddr(domain: Handle<'Domain'>, ep: Handle<'Endpoint'>, peer: number): EfaAddr;
  efaQueryQpWqs(domain: Handle<'Domain'>, ep: Handle<'Endpoint'>): EfaQpWqs;
  efaQueryCq(domain: Handle<'Domain'>, cq: Handle<'CompletionQueue'>): EfaCqAttr;
  efaQueryFeature(domain: Handle<'Domain'>, feature: string): boolean;
}

/** A byte of registered memory: handle, offset and value. */
export type NativeByte = readonly [memory: number, offset: number, value: number];

/** What the rounds of a batch set and wait for. */
export interface NativeRoundEvents {
  readonly marks: readonly NativeByte[];
  readonly bytes: readonly NativeByte[];
  readonly thresholds: readonly (readonly [
    counter: Handle<'Counter'>,
    value: bigint | number,
    step: bigint | number,
  ])[];
  readonly immediates: number;
}

/** native/batch.cc */
export interface NativeBatches {
  batchCreate(domain: Handle<'Domain'>, entries: number): { batch: number; buffer: ArrayBuffer };
  batchDestroy(domain: Handle<'Domain'>, batch: number): void;
  batchSamples(domain: Handle<'Domain'>, batch: number, count: number): ArrayBuffer;
  batchEvents(domain: Handle<'Domain'>, batch: number, events: NativeRoundEvents): void;
  layout(): Readonly<Record<string, number>>;
}

type Functions = Record<string, (...args: unknown[]) => unknown>;

function load(): Functions {
  const addon = loadAddon() as NativeAddon;
  addon.initialize(makeFabricError);
  const { engine, ...functions } = addon;
  const entries = Object.entries(functions as unknown as Functions);
  const guarded = entries.map(([name, call]) => [name, startingAtCaller(call)]);
  return { ...Object.fromEntries(guarded), engine };
}

// Misuse that C++ finds is reported at the line of the caller, as that which JavaScript finds.
function startingAtCaller(call: (...args: unknown[]) => unknown) {
  return (...args: unknown[]): unknown => {
    try {
      return call(...args);
    } catch (error) {
      throw error instanceof Error ? startAtCaller(error) : error;
    }
  };
}

let loaded: Functions | undefined;

/** The addon, loaded when it is first used: until then the program may prepare the process. */
export const native = new Proxy({} as Functions, {
  get: (_target, name: string) => loadOnce()[name],
}) as unknown as NativeAddon;

/** All functions of the addon, by name. */
export function loadOnce(): Functions {
  loaded ??= load();
  return loaded;
}
