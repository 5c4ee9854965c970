// The part of the contract that handles memory.
import type { Handle } from './handles.js';

/** Memory of a device, as a dmabuf or by its pointer: native/js/device_memory.cc. */
export type NativeDeviceMemory<Descriptor = number | Handle<'DmabufHold'>> =
  | {
      readonly fd: Descriptor;
      readonly offset: number;
      readonly length: number;
    }
  | {
      readonly iface: string;
      readonly pointer: bigint;
      readonly device: number;
      readonly length: number;
    };

/** A registered region. */
export interface NativeRegion {
  /** Its handle in the engine's table. */
  readonly memory: number;
  readonly key: bigint;
  /** The address for peers: 0 without FI_MR_VIRT_ADDR. */
  readonly address: bigint;
}

/** Memory to allocate, without optional members. */
export interface NativeAllocation {
  /** Bytes. */
  readonly length: number;
  readonly hugePages: boolean;
  /** Whether the buffer is a SharedArrayBuffer. */
  readonly shared: boolean;
  /** The node of mbind(2). -1: any. */
  readonly numaNode: number;
}

/** native/js/memory_region.cc */
export interface NativeMemory {
  // int fi_mr_reg(struct fid_domain *domain, const void *buf, size_t len, uint64_t access, uint64_t offset,
  //               uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context)
  // uint64_t fi_mr_key(struct fid_mr *mr)
  /** `wasRegistered`: an earlier registration has faulted in the pages. */
  memoryRegister(
    domain: Handle<'Domain'>,
    bytes: Uint8Array,
    access: readonly string[],
    flags: readonly string[],
    wasRegistered: boolean,
  ): Promise<NativeRegion>;
  // int fi_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr, uint64_t flags, struct fid_mr **mr)
  memoryRegisterDevice(
    domain: Handle<'Domain'>,
    memory: NativeDeviceMemory,
    access: readonly string[],
    flags: readonly string[],
  ): Promise<NativeRegion>;
  // fcntl(2) with F_DUPFD_CLOEXEC
  dmabufHold(memory: { readonly fd: number }): Handle<'DmabufHold'>;
  // close(2)
  dmabufRelease(hold: Handle<'DmabufHold'>): void;
  // mmap(2), mbind(2), and the calls of memoryRegister
  memoryAllocate(
    domain: Handle<'Domain'>,
    access: readonly string[],
    flags: readonly string[],
    allocation: NativeAllocation,
  ): Promise<NativeRegion & { buffer: ArrayBufferLike; hugePages: boolean }>;
  // The following make no libfabric call: they use the tables of the engine.
  /** Enters an unregistered ArrayBuffer. Returns its handle. */
  memoryAdopt(domain: Handle<'Domain'>, bytes: Uint8Array): number;
  /** Frees the handle once no operation uses the memory. */
  memoryForget(domain: Handle<'Domain'>, memory: number): void;
  memoryRead(domain: Handle<'Domain'>, memory: number, offset: number, length: number): ArrayBuffer;
  /** A new ArrayBuffer over the memory, after the first one was detached. */
  memoryBuffer(domain: Handle<'Domain'>, memory: number): ArrayBuffer;
  // native/js/remote_region.cc
  remoteAdd(domain: Handle<'Domain'>, address: bigint, key: bigint, length: bigint): number;
  remoteForget(domain: Handle<'Domain'>, remote: number): void;
}

/** native/js/receive_buffers.cc */
export interface NativeReceiveBuffers {
  /** Allocates and registers `count` pieces of memory of `size` bytes. */
  receiveBuffersCreate(
    domain: Handle<'Domain'>,
    count: number,
    size: number,
  ): { handles: Uint32Array; buffers: ArrayBuffer[] };
  receiveBuffersForget(domain: Handle<'Domain'>, handles: Uint32Array): void;
}
