import { startAtCaller } from '../errors.js';
import { callerOf, loadCuda } from '../load.js';
import { CudaError, cudaNotFound, cudaTooOld } from './errors.js';

/** Native memory. */
export type NativeMemory = { readonly __memory: never };

/** The interface of native/cuda. */
export interface NativeCuda {
  /** cuDriverGetVersion: 12040 is 12.4. */
  driverVersion(): number;
  /** cuDeviceGetCount, cuDeviceGetName, cuDeviceGetPCIBusId, cuDeviceGetAttribute */
  devices(): NativeDevice[];
  /** cuMemAlloc */
  allocate(device: number, byteLength: number): { handle: NativeMemory; pointer: bigint };
  /** cuMemFree */
  free(memory: NativeMemory): void;
  /** cuMemsetD8 */
  fill(memory: NativeMemory, value: number, offset: number, length: number): void;
  /** cuMemcpyHtoD */
  write(memory: NativeMemory, offset: number, bytes: Uint8Array): void;
  /** cuMemcpyDtoH */
  read(memory: NativeMemory, offset: number, bytes: Uint8Array): void;
  /** cuPointerGetAttribute */
  pointerAttributes(pointer: bigint): NativePointer | undefined;
  /** cuMemGetHandleForAddressRange */
  exportDmabuf(device: number, pointer: bigint, byteLength: number): { fd: number; offset: number };
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
export const call = callerOf<NativeCuda>(loadCuda, explain);

function explain(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if ('missing' in error) {
    const explained = error.missing === 'libcuda.so.1' ? cudaNotFound : cudaTooOld;
    return startAtCaller(explained(error));
  }
  if (!('result' in error && 'syscall' in error && 'resultName' in error)) return error;
  const result = Number(error.result);
  const code = String(error.resultName) || `CUDA_ERROR_${result}`;
  const text = error.message || 'unknown error';
  return startAtCaller(new CudaError(result, code, text, String(error.syscall)));
}
