import { types } from 'node:util';
import { check64, checkInteger, checkNames, namesOf, oneOf } from '../base/checks.js';
import { invalidArgType, invalidArgValue } from '../base/errors.js';
import type { HmemIface } from '../base/flags.js';
import { isRevoked } from '../base/objects.js';
import { type Handle, type NativeDeviceMemory, native } from '../contract/native.js';
import type { DeviceAccess } from '../engine/memory.js';

/**
 * Memory of a GPU or another device as a dmabuf: FI_MR_DMABUF of fi_mr(3), libfabric 1.20 and
 * later. libfabric needs no support for the device.
 */
export interface DmabufMemory {
  readonly type: 'dmabuf';
  /** The file descriptor of the dmabuf. It may be closed as soon as register() has returned its promise. */
  readonly fd: number;
  /** Offset of the memory in the dmabuf, in bytes. */
  readonly offset: number;
  /** Bytes. */
  readonly byteLength: number;
}

/** The devices whose pointers libfabric supports: enum fi_hmem_iface of fi_mr(3). */
export type HmemType = 'cuda' | 'rocr' | 'ze' | 'neuron' | 'synapseai';

/**
 * Memory of a GPU or another device by its pointer. It needs an entry with the capability FI_HMEM,
 * and a libfabric that was built for the device.
 */
export interface HmemMemory {
  readonly type: HmemType;
  /** The address of the memory on the device. */
  readonly pointer: bigint;
  /** Bytes. */
  readonly byteLength: number;
  /** The index of the device. Of ze: the driver's index << 16 | the device's index. */
  readonly device: number;
}

/** Memory of a GPU or another device, for `domain.register()`. */
export type DeviceMemory = DmabufMemory | HmemMemory;

const IFACES: Readonly<Record<HmemType, Exclude<HmemIface, 'FI_HMEM_SYSTEM'>>> = {
  cuda: 'FI_HMEM_CUDA',
  rocr: 'FI_HMEM_ROCR',
  ze: 'FI_HMEM_ZE',
  neuron: 'FI_HMEM_NEURON',
  synapseai: 'FI_HMEM_SYNAPSEAI',
};
const TYPES = ['dmabuf', ...(Object.keys(IFACES) as HmemType[])] as const;
const DMABUF_NAMES = namesOf<DmabufMemory>({ type: 1, fd: 1, offset: 1, byteLength: 1 });
const HMEM_NAMES = namesOf<HmemMemory>({ type: 1, pointer: 1, byteLength: 1, device: 1 });
/** The largest int of C. @internal */
export const MAX_INT = 2 ** 31 - 1;

/** Checked device memory in the form of the native side, and how the provider reaches it. */
export interface CheckedDeviceMemory {
  readonly memory: NativeDeviceMemory<number>;
  readonly access: DeviceAccess;
}

/** Whether a value is meant to be device memory. */
export function looksLikeDeviceMemory(value: unknown): value is DeviceMemory {
  if (typeof value !== 'object' || value === null || isRevoked(value)) return false;
  return 'type' in value && !ArrayBuffer.isView(value) && !types.isAnyArrayBuffer(value);
}

/** A copy of the members of device memory. They may be accessors of a class. */
export function membersOf(memory: DeviceMemory): DeviceMemory {
  const names: readonly string[] = memory.type === 'dmabuf' ? DMABUF_NAMES : HMEM_NAMES;
  const members = names.map((name) => [name, memory[name as keyof DeviceMemory]]);
  return { ...memory, ...Object.fromEntries(members) };
}

/** Device memory whose parts can be registered even if the caller has closed its descriptor. */
export class HeldDeviceMemory {
  readonly #memory: NativeDeviceMemory;

  /** @throws FabricError FI_EBADF. TypeError, RangeError for invalid memory. */
  constructor(given: DeviceMemory) {
    const { memory } = checkDeviceMemory('memory', given);
    this.#memory =
      'iface' in memory ? memory : { ...memory, fd: native.dmabufHold({ fd: memory.fd }) };
  }

  /** The bytes [start, end). */
  part(start: number, end: number): NativeDeviceMemory {
    const memory = this.#memory;
    const length = end - start;
    if ('iface' in memory) return { ...memory, pointer: memory.pointer + BigInt(start), length };
    return { ...memory, offset: memory.offset + start, length };
  }

  release(): void {
    const memory = this.#memory;
    if (!('iface' in memory)) native.dmabufRelease(memory.fd as Handle<'DmabufHold'>);
  }
}

/** Checks device memory, and reads each member once. */
export function checkDeviceMemory(name: string, given: DeviceMemory): CheckedDeviceMemory {
  const type = oneOf(`${name}.type`, given.type, TYPES);
  const length = checkInteger(`${name}.byteLength`, given.byteLength, 1);
  if (type === 'dmabuf') {
    const { fd, offset } = given as DmabufMemory;
    checkNames(name, given, DMABUF_NAMES);
    checkInteger(`${name}.fd`, fd, 0, MAX_INT);
    checkInteger(`${name}.offset`, offset, 0, Number.MAX_SAFE_INTEGER - length);
    return { memory: { fd, offset, length }, access: 'FI_MR_DMABUF' };
  }
  const { pointer, device } = given as HmemMemory;
  checkNames(name, given, HMEM_NAMES);
  if (typeof pointer !== 'bigint') throw invalidArgType(`${name}.pointer`, 'a bigint', pointer);
  check64(`${name}.pointer`, pointer);
  if (pointer === 0n) throw invalidArgValue(`${name}.pointer`, 'is 0');
  if (pointer + BigInt(length) > 2n ** 64n) {
    throw invalidArgValue(name, 'ends after the last address');
  }
  checkInteger(`${name}.device`, device, 0, MAX_INT);
  const iface = IFACES[type];
  return { memory: { iface, pointer, device, length }, access: iface };
}
