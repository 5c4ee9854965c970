import { acceleratorCall, type NativeMemory } from '../accelerator/native.js';
import { loadCuda } from '../contract/load.js';
import { CudaError, cudaNotFound, cudaTooOld } from './errors.js';

/** The interface of native/cuda. */
export interface NativeCuda extends NativeMemory {
  /** cuDriverGetVersion: 12040 is 12.4. */
  driverVersion(): number;
  /** cuDeviceGetCount, cuDeviceGetName, cuDeviceGetPCIBusId, cuDeviceGetAttribute */
  devices(): NativeDevice[];
  /** cuPointerGetAttribute */
  pointerAttributes(pointer: bigint): NativePointer | undefined;
}

export interface NativeDevice {
  readonly name: string;
  readonly pciBusId: string;
  readonly memory: number;
  readonly major: number;
  readonly minor: number;
  readonly gpuDirectRdma: boolean;
  readonly dmabuf: boolean;
}

export interface NativePointer {
  readonly onHost: boolean;
  readonly managed: boolean;
  readonly device: number;
  readonly start: bigint;
  readonly byteLength: number;
}

/** Calls the addon. Throws CudaError, ERR_CUDA_NOT_FOUND or ERR_CUDA_TOO_OLD. */
export const call = acceleratorCall<NativeCuda>(loadCuda, {
  library: 'libcuda.so.1',
  notFound: cudaNotFound,
  tooOld: cudaTooOld,
  failed: (failure) => new CudaError(failure),
});
