import { types } from 'node:util';
import { asCancellation } from '../base/cancellation.js';
import {
  allBytesOf,
  checkByteLength,
  checkInteger,
  checkObject,
  namesOf,
  refuseUnusable,
} from '../base/checks.js';
import { endsWith } from '../base/ends.js';
import { closed, FabricError, invalidArgType, invalidArgValue, offLoop } from '../base/errors.js';
import type { MrAccess, MrFlag } from '../base/flags.js';
import { isArray } from '../base/objects.js';
import { bytesOf, isBufferView, lengthOf } from '../base/views.js';
import { checkWait, type Wait, type WaitOptions, within } from '../base/wait-options.js';
import { type NativeRegion, native } from '../contract/native.js';
import type { Engine } from '../engine/engine.js';
import { refuseUnsteady } from '../engine/memory.js';
import { checkDeviceMemory, type DeviceMemory, looksLikeDeviceMemory } from './device-memory.js';
import { hostBytesOf, MemoryRegion } from './memory-region.js';

/** The options of `domain.register()`. */
export interface RegisterOptions extends WaitOptions {
  /** Flags of fi_mr_reg(3) and of the provider. */
  readonly flags?: readonly MrFlag[];
}

/** The options of `domain.allocate()`. */
export interface AllocateOptions extends RegisterOptions {
  /** Requests huge pages. `region.hugePages` shows whether they were available. */
  readonly hugePages?: boolean;
  /** Allocates a SharedArrayBuffer, which workers share when it is posted to them. */
  readonly shared?: boolean;
  /** The NUMA node of the memory: mbind(2). If the node is full, some of the memory comes from other nodes. */
  readonly numaNode?: number;
}

const REGISTER_NAMES = namesOf<RegisterOptions>({ flags: 1, signal: 1, timeout: 1 });
const ALLOCATE_NAMES = namesOf<AllocateOptions>({
  flags: 1,
  hugePages: 1,
  shared: 1,
  numaNode: 1,
  signal: 1,
  timeout: 1,
});
const MAX_RIGHTS = 64;
const MAX_NUMA_NODE = 1023; // of any Linux
const ANY_NODE = -1; // for the native side

const checkNumaNode = (name: string, node: unknown): number =>
  checkInteger(name, node, 0, MAX_NUMA_NODE);

/** domain.register() */
export async function register(
  engine: Engine,
  buffer: ArrayBufferView | ArrayBufferLike | DeviceMemory,
  access: readonly MrAccess[],
  options: RegisterOptions,
): Promise<MemoryRegion> {
  const rights = checkAccess(access);
  if (looksLikeDeviceMemory(buffer)) return registerDevice(engine, buffer, rights, options);
  const bytes = viewOf(buffer);
  if (bytes.length === 0) throw invalidArgValue('buffer', 'is empty');
  const wait = checkWait(options, REGISTER_NAMES);
  const flags = checkFlags(options);
  refuseUnsteady(bytes.buffer, 'buffer');
  const host = hostBytesOf(bytes); // the native side holds this memory from now on
  const registering = async () => {
    const region = await ofOpen(native.memoryRegister(engine.handle, bytes, rights, flags, false));
    return orForget(engine, region, () => new MemoryRegion(engine, region, host, rights));
  };
  return orClosed(registering(), wait);
}

function registerDevice(
  engine: Engine,
  given: DeviceMemory,
  rights: readonly MrAccess[],
  options: RegisterOptions,
): Promise<MemoryRegion> {
  const { memory, access } = checkDeviceMemory('memory', given);
  const wait = checkWait(options, REGISTER_NAMES);
  const flags = checkFlags(options);
  const registering = async () => {
    const region = await ofOpen(native.memoryRegisterDevice(engine.handle, memory, rights, flags));
    const device = { length: memory.length, access };
    return orForget(engine, region, () => new MemoryRegion(engine, region, device, rights));
  };
  return orClosed(registering(), wait);
}

/** Awaits a registration. If the domain is closed first, it is refused as it is afterwards. */
async function ofOpen<R extends NativeRegion>(registering: Promise<R>): Promise<R> {
  try {
    return await offLoop(registering);
  } catch (error) {
    const isOvertaken = FabricError.is(error) && error.code === 'FI_ECANCELED';
    throw isOvertaken ? asCancellation(closed('the domain')) : error;
  }
}

/** How to allocate memory, checked, for the native side. */
export function checkAllocation(
  options: Partial<Record<'hugePages' | 'shared' | 'numaNode', unknown>>,
) {
  const { hugePages = false, shared = false, numaNode } = options;
  if (typeof hugePages !== 'boolean') {
    throw invalidArgType('options.hugePages', 'a boolean', hugePages);
  }
  if (typeof shared !== 'boolean') throw invalidArgType('options.shared', 'a boolean', shared);
  const node = numaNode === undefined ? ANY_NODE : checkNumaNode('options.numaNode', numaNode);
  return { hugePages, shared, numaNode: node };
}

/** domain.allocate() */
export async function allocate(
  engine: Engine,
  length: number,
  access: readonly MrAccess[],
  options: AllocateOptions,
): Promise<MemoryRegion> {
  const rights = checkAccess(access);
  checkInteger('length', length, 1);
  checkByteLength('length', length);
  const allocation = { length, ...checkAllocation(checkObject('options', options)) };
  const wait = checkWait(options, ALLOCATE_NAMES);
  const flags = checkFlags(options);
  const allocating = async () => {
    const region = await ofOpen(native.memoryAllocate(engine.handle, rights, flags, allocation));
    return orForget(engine, region, () => {
      const host = { buffer: region.buffer, start: 0, length };
      return new MemoryRegion(engine, region, host, rights, region.hugePages);
    });
  };
  return orClosed(allocating(), wait);
}

/** Makes the object of a registration. Deregisters the memory if that fails. */
function orForget(engine: Engine, { memory }: NativeRegion, make: () => MemoryRegion) {
  try {
    return make();
  } catch (error) {
    if (engine.open) native.memoryForget(engine.handle, memory);
    throw error;
  }
}

// If the wait ended before the registration, the region is closed when it is ready.
async function orClosed(region: Promise<MemoryRegion>, wait: Wait): Promise<MemoryRegion> {
  try {
    return await within(region, wait, 'fi_mr_reg');
  } catch (error) {
    endsWith(
      error,
      region.then((late) => late.close()).catch(() => {}),
    );
    throw error;
  }
}

// Copies the list, so that the rights granted are the rights checked.
function checkAccess(access: readonly MrAccess[]): readonly MrAccess[] {
  if (!isArray(access) || access.length === 0 || access.length > MAX_RIGHTS) {
    throw invalidArgType(
      'access',
      "a list of one or more rights, such as ['FI_SEND', 'FI_RECV']",
      access,
    );
  }
  return Array.from(access as readonly MrAccess[]);
}

function checkFlags({ flags = [] }: RegisterOptions): readonly MrFlag[] {
  if (!isArray(flags) || flags.length > MAX_RIGHTS) {
    throw invalidArgType('options.flags', "a list, such as ['FI_EFA_MR_RELAXED_ORDERING']", flags);
  }
  return Array.from(flags as readonly MrFlag[]);
}

// Creates a new view, because a subclass may override its properties.
function viewOf(buffer: ArrayBufferView | ArrayBufferLike): Uint8Array {
  if (isBufferView(buffer)) {
    refuseUnusable(buffer, 'buffer');
    checkByteLength('buffer', lengthOf(buffer));
    return bytesOf(buffer);
  }
  if (!types.isAnyArrayBuffer(buffer)) {
    throw invalidArgType('buffer', 'an ArrayBuffer, a view of one, or device memory', buffer);
  }
  return allBytesOf('buffer', buffer);
}
