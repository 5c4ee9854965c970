import { types } from 'node:util';
import { markAsUntransferable } from 'node:worker_threads';
import {
  checkByteLength,
  checkBytes,
  checkInteger,
  checkOptions,
  namesOf,
} from '../base/checks.js';
import { FabricError, invalidArgType, invalidArgValue, outOfRange } from '../base/errors.js';
import { isArray } from '../base/objects.js';
import { type Handle, native } from '../contract/native.js';
import {
  type DeviceMemory,
  HeldDeviceMemory,
  looksLikeDeviceMemory,
  membersOf,
} from '../memory/device-memory.js';
import type { MemoryRegion } from '../memory/memory-region.js';
import { checkAllocation } from '../memory/registration.js';
import { errnoOf } from './errors.js';
import { type Rail, working } from './rails.js';
import type { SharedFile } from './same-host.js';

/** Options of `engine.register()`. */
export interface RegisterMemoryOptions {
  /** The names (`rail.nic`) of the NICs that register the memory and can transfer it. If omitted, all NICs. */
  readonly nics?: readonly string[];
}

/** Options of `engine.allocate()`. */
export interface AllocateMemoryOptions extends RegisterMemoryOptions {
  /** Requests huge pages. */
  readonly hugePages?: boolean;
  /** Allocates a SharedArrayBuffer, which workers share when it is posted to them. */
  readonly shared?: boolean;
  /** The NUMA node of the memory: mbind(2). If the node is full, some of the memory comes from other nodes. */
  readonly numaNode?: number;
}

const REGISTER = namesOf<RegisterMemoryOptions>({ nics: 1 });
const ALLOCATE = namesOf<AllocateMemoryOptions>({ nics: 1, hugePages: 1, shared: 1, numaNode: 1 });
const ACCESS = ['FI_WRITE', 'FI_READ'] as const;

/** Memory that is registered on rails. */
export interface RegisteredMemory {
  /** By rail. Undefined where the memory is not registered. */
  readonly regions: readonly (MemoryRegion | undefined)[];
  /** Milliseconds that the registration took, by rail. Null where the memory is not registered. */
  readonly took: readonly (number | null)[];
  /** The file that peers of this host can map. */
  readonly file?: SharedFile;
  /** Memory of a device, from which offers register parts. */
  readonly device?: HeldDeviceMemory;
}

/** Registers memory on rails in parallel: on all chosen rails, or on none. */
export function registerMemory(
  rails: readonly Rail[],
  bytes: ArrayBufferView | ArrayBufferLike | DeviceMemory,
  options: RegisterMemoryOptions,
): Promise<RegisteredMemory> {
  const { nics } = checkOptions('options', options, REGISTER);
  if (looksLikeDeviceMemory(bytes)) return registerDevice(chosen(rails, nics), membersOf(bytes));
  if (checkBytes('bytes', bytes).length === 0) {
    throw invalidArgValue('bytes', 'is empty: a transfer has at least one byte');
  }
  return onEach(chosen(rails, nics), bytes);
}

async function registerDevice(
  rails: readonly (Rail | undefined)[],
  memory: DeviceMemory,
): Promise<RegisteredMemory> {
  const device = new HeldDeviceMemory(memory);
  try {
    if (memory.type !== 'dmabuf') checkHmem(rails);
    return { ...(await onEach(rails, memory)), device };
  } catch (error) {
    device.release();
    throw error;
  }
}

function checkHmem(rails: readonly (Rail | undefined)[]): void {
  if (rails.every((rail) => rail === undefined || rail.info.caps.includes('FI_HMEM'))) return;
  throw new FabricError(errnoOf('FI_EOPNOTSUPP'), 'fi_mr_regattr', {
    detail: 'the engine was opened without FI_HMEM, which pointers of a device need',
    hint: 'open the engine with `hmem: true`, or register a dmabuf on efa-direct',
  });
}

/** Allocates memory and registers it. If `engine` is given, peers of this host can map the memory. */
export async function allocateMemory(
  rails: readonly Rail[],
  length: number,
  options: AllocateMemoryOptions,
  engine: Handle<'TransferEngine'> | undefined,
): Promise<RegisteredMemory> {
  if (length === 0) throw outOfRange('length', 'at least 1: a transfer has at least one byte', 0);
  checkInteger('length', length, 1);
  checkByteLength('length', length);
  const checked = checkOptions('options', options, ALLOCATE);
  const { nics, numaNode } = checked;
  const allocation = { length, ...checkAllocation(checked) };
  const on = chosen(rails, nics);
  if (engine !== undefined) {
    const file = native.transferAllocate(engine, allocation);
    if (file !== undefined) {
      keepHere(file.buffer);
      return { ...(await onEach(on, file.buffer)), file };
    }
  }
  const first = on.findIndex((rail) => rail !== undefined);
  const started = performance.now();
  const { hugePages, shared } = allocation;
  const how = { hugePages, shared, ...(numaNode !== undefined && { numaNode }) };
  const region = await (on[first] as Rail).domain.allocate(length, ACCESS, how);
  const took = performance.now() - started;
  keepHere(region.buffer);
  try {
    const others = await onEach(on.with(first, undefined), region.bytes);
    return { regions: others.regions.with(first, region), took: others.took.with(first, took) };
  } catch (error) {
    await region.close();
    throw error;
  }
}

// The memory that Node-API gives to other runtimes must be detachable: Node.js 26 detaches it when a process ends.
const MAY_KEEP = process.versions.bun === undefined;

// A thread that got the ArrayBuffer would share memory that is not shared, and that a pool gives to others. This takes 1 us.
function keepHere(buffer: ArrayBufferLike): void {
  if (MAY_KEEP && !types.isSharedArrayBuffer(buffer)) markAsUntransferable(buffer);
}

/** Checks options of allocateMemory(). */
export function checkAllocateOptions(rails: readonly Rail[], options: AllocateMemoryOptions): void {
  const checked = checkOptions('options', options, ALLOCATE);
  checkAllocation(checked);
  chosen(rails, checked.nics);
}

/** The working rails of these NICs, with undefined in place of the others. */
function chosen(rails: readonly Rail[], nics: unknown): readonly (Rail | undefined)[] {
  if (nics === undefined) return working(rails);
  if (!isArray(nics)) throw invalidArgType('options.nics', 'an array of names of NICs', nics);
  if (nics.length === 0) {
    throw invalidArgValue('options.nics', 'is empty: name at least one NIC, or omit it for all');
  }
  const names = rails.map(({ nic }) => nic);
  const unknown = nics.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const all = [...new Set(names)].join(', ');
    throw invalidArgValue('options.nics', `has ${String(unknown)}, but the NICs are ${all}`);
  }
  return working(rails.map((rail) => (nics.includes(rail.nic) ? rail : undefined)));
}

/** Registers memory on each rail. If one registration fails, closes the others and throws the first failure. */
async function onEach(
  rails: readonly (Rail | undefined)[],
  bytes: ArrayBufferView | ArrayBufferLike | DeviceMemory,
): Promise<RegisteredMemory> {
  const started = performance.now();
  const took: (number | null)[] = rails.map(() => null);
  const registering = rails.map(async (rail, i) => {
    if (rail === undefined) return undefined;
    const region = await rail.domain.register(bytes, ACCESS);
    took[i] = performance.now() - started;
    return region;
  });
  const results = await Promise.allSettled(registering);
  const regions = results.map((each) => (each.status === 'fulfilled' ? each.value : undefined));
  const failed = results.find((each) => each.status === 'rejected');
  if (failed === undefined) return { regions, took };
  await Promise.allSettled(regions.map((region) => region?.close()));
  throw (failed as PromiseRejectedResult).reason;
}
