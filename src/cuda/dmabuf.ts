import { checkExported, type Dmabuf, exportRange } from '../accelerator/dmabuf.js';
import { invalidArgValue, outOfRange } from '../base/errors.js';
import type { HmemMemory } from '../memory/device-memory.js';
import { call } from './native.js';
import { pointerAttributes } from './pointer.js';

/**
 * Exports memory of CUDA as a dmabuf, whichever library of this process has allocated it:
 * cuMemGetHandleForAddressRange. Also sets CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, so that synchronous
 * copies into the memory are complete when they return.
 *
 * The memory must not be freed while it is registered.
 *
 * @throws TypeError ERR_INVALID_ARG_VALUE for an address that is not in memory of the device.
 * RangeError for a range that ends after its allocation. Error ERR_CUDA_NOT_FOUND, ERR_CUDA_TOO_OLD.
 * CudaError if the driver cannot export the memory.
 */
export function exportDmabuf(memory: HmemMemory): Dmabuf {
  const range = checkExported(memory, 'cuda');
  checkRange(range.pointer, range.byteLength, range.device);
  return exportRange(call, range);
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
