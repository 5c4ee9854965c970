import { AcceleratorMemory, type AllocateOptions, allocateOn } from '../accelerator/memory.js';
import { exportDmabuf } from './dmabuf.js';
import { call } from './native.js';

const KIND = { name: 'CudaMemory', call, exportDmabuf };

/**
 * Allocates memory of a CUDA device, in its primary context: cuMemAlloc. Its content is undefined.
 *
 * @throws TypeError, RangeError for wrong arguments. Error ERR_CUDA_NOT_FOUND, ERR_CUDA_TOO_OLD.
 * CudaError CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_DEVICE.
 */
export function allocate(byteLength: number, options: AllocateOptions = {}): CudaMemory {
  return new CudaMemory(allocateOn(KIND, byteLength, options));
}

/** Memory of a CUDA device: {@link allocate}. Failed calls throw CudaError. */
export class CudaMemory extends AcceleratorMemory {
  readonly type = 'cuda';
}
