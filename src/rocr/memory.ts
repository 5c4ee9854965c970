import { type Dmabuf, exportedBy } from '../accelerator/dmabuf.js';
import { AcceleratorMemory, type AllocateOptions, allocateOn } from '../accelerator/memory.js';
import type { HmemMemory } from '../memory/device-memory.js';
import { call } from './native.js';

const KIND = { name: 'RocrMemory', call, exportDmabuf };

/**
 * Allocates memory of a GPU of AMD: hsa_amd_memory_pool_allocate, from the first pool of the GPU that permits
 * it. Its content is undefined.
 *
 * @throws TypeError, RangeError for wrong arguments. Error ERR_ROCR_NOT_FOUND, ERR_ROCR_TOO_OLD.
 * RocrError HSA_STATUS_ERROR_OUT_OF_RESOURCES, HSA_STATUS_ERROR_INVALID_AGENT.
 */
export function allocate(byteLength: number, options: AllocateOptions = {}): RocrMemory {
  return new RocrMemory(allocateOn(KIND, byteLength, options));
}

/** Memory of a GPU of AMD: {@link allocate}. Failed calls throw RocrError. */
export class RocrMemory extends AcceleratorMemory {
  readonly type = 'rocr';
}

/**
 * Exports memory of ROCm as a dmabuf, whichever library of this process has allocated it:
 * hsa_amd_portable_export_dmabuf. ROCm 5.2 has no such function.
 *
 * The memory must not be freed while it is registered.
 *
 * @throws TypeError, RangeError for wrong arguments. Error ERR_ROCR_NOT_FOUND, ERR_ROCR_TOO_OLD.
 * RocrError HSA_STATUS_ERROR_INVALID_ALLOCATION if the range is not within an allocation, or another
 * if the runtime cannot export it.
 */
export function exportDmabuf(memory: HmemMemory): Dmabuf {
  return exportedBy(call, memory, 'rocr');
}
