import { type Dmabuf, exportedBy } from '../accelerator/dmabuf.js';
import { AcceleratorMemory, type AllocateOptions, allocateOn } from '../accelerator/memory.js';
import type { HmemMemory } from '../memory/device-memory.js';
import { call } from './native.js';

const KIND = { name: 'ZeMemory', call, exportDmabuf };

/**
 * Allocates memory of a GPU of Level Zero that can be exported as a dmabuf: zeMemAllocDevice, in a context of
 * this package. Its content is undefined.
 *
 * @throws TypeError, RangeError for wrong arguments. Error ERR_ZE_NOT_FOUND, ERR_ZE_TOO_OLD.
 * ZeError ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, ZE_RESULT_ERROR_INVALID_ARGUMENT if there is no such
 * device, ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION if the driver exports no dmabufs.
 */
export function allocate(byteLength: number, options: AllocateOptions = {}): ZeMemory {
  return new ZeMemory(allocateOn(KIND, byteLength, options));
}

/** Memory of a GPU of Level Zero: {@link allocate}. Failed calls throw ZeError. */
export class ZeMemory extends AcceleratorMemory {
  readonly type = 'ze';
}

/**
 * Exports a range of memory of {@link allocate} as a dmabuf: zeMemGetAllocProperties. A driver knows memory in
 * the context that it was allocated in, so that memory of another library of this process is refused.
 *
 * The memory must not be freed while it is registered.
 *
 * @throws TypeError, RangeError for wrong arguments. Error ERR_ZE_NOT_FOUND, ERR_ZE_TOO_OLD.
 * ZeError ZE_RESULT_ERROR_INVALID_ARGUMENT for an address that is not in memory of allocate(),
 * ZE_RESULT_ERROR_INVALID_SIZE for a range that ends after it, or another if the driver cannot export it.
 */
export function exportDmabuf(memory: HmemMemory): Dmabuf {
  return exportedBy(call, memory, 'ze');
}
