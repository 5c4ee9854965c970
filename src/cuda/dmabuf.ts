import { closeSync } from 'node:fs';
import { checkInteger, oneOf } from '../checks.js';
import type { DmabufMemory, HmemMemory } from '../device-memory.js';
import { closed, invalidArgType, invalidArgValue, outOfRange } from '../errors.js';
import { call } from './native.js';
import { checkPointer, pointerAttributes } from './pointer.js';

/**
 * A dmabuf of CUDA memory, for `domain.register()`: {@link exportDmabuf}. Its descriptor is open
 * until close(), which may be called as soon as register() has returned its promise.
 */
export class CudaDmabuf implements DmabufMemory {
  readonly type = 'dmabuf';
  /** Offset of the memory in the dmabuf, in bytes. */
  readonly offset: number;
  /** Bytes. */
  readonly byteLength: number;
  #fd: number | undefined;

  /** @internal */
  constructor(fd: number, offset: number, byteLength: number) {
    this.#fd = fd;
    this.offset = offset;
    this.byteLength = byteLength;
  }

  /**
   * The file descriptor.
   *
   * @throws Error ERR_CLOSED
   */
  get fd(): number {
    if (this.#fd === undefined) throw closed('CudaDmabuf');
    return this.#fd;
  }

  /** Closes the descriptor. Regions that were registered with it stay valid. */
  close(): void {
    const fd = this.#fd;
    this.#fd = undefined;
    if (fd !== undefined) closeSync(fd);
  }

  /** close() */
  [Symbol.dispose](): void {
    this.close();
  }
}

/**
 * Exports memory of CUDA as a dmabuf, whichever library of this process has allocated it:
 * cuMemGetHandleForAddressRange. Also sets CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, so that synchronous
 * copies into the memory have ended when they return.
 *
 * The memory must not be freed while it is registered.
 *
 * @throws TypeError ERR_INVALID_ARG_VALUE for an address that is not in memory of the device.
 * RangeError for a range that ends after its allocation. Error ERR_CUDA_NOT_FOUND, ERR_CUDA_TOO_OLD.
 * CudaError if the driver cannot export the memory.
 */
export function exportDmabuf(memory: HmemMemory): CudaDmabuf {
  if (typeof memory !== 'object' || memory === null) {
    throw invalidArgType('memory', 'memory of CUDA', memory);
  }
  oneOf('memory.type', memory.type, ['cuda']);
  const pointer = checkPointer('memory.pointer', memory.pointer);
  const byteLength = checkInteger('memory.byteLength', memory.byteLength, 1);
  const device = checkInteger('memory.device', memory.device, 0, 2 ** 31 - 1);
  checkRange(pointer, byteLength, device);
  const { fd, offset } = call((cuda) => cuda.exportDmabuf(device, pointer, byteLength));
  return new CudaDmabuf(fd, offset, byteLength);
}

function checkRange(pointer: bigint, byteLength: number, device: number): void {
  const found = pointerAttributes(pointer);
  if (found === null) {
    throw invalidArgValue('memory.pointer', 'is not in memory that CUDA has allocated here');
  }
  if (found.type !== 'device') {
    throw invalidArgValue('memory.pointer', `is in ${found.type} memory, not in that of a device`);
  }
  if (found.device !== device) {
    throw invalidArgValue('memory.device', `is ${device}, but the pointer is of ${found.device}`);
  }
  const rest = Number(found.start - pointer) + found.byteLength;
  if (byteLength > rest) {
    throw outOfRange('memory.byteLength', `at most ${rest}, the end of its allocation`, byteLength);
  }
}
