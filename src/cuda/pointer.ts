import { checkPointer } from '../accelerator/dmabuf.js';
import { call } from './native.js';

/** What the driver knows of an address. */
export interface PointerAttributes {
  /** Where the memory is. `'managed'` memory moves between the host and devices. */
  readonly type: 'device' | 'host' | 'managed';
  /** The index of its device. */
  readonly device: number;
  /** The address where its allocation starts. */
  readonly start: bigint;
  /** Bytes of its allocation. */
  readonly byteLength: number;
}

/**
 * What the driver knows of an address, of any library in this process: cuPointerGetAttribute. Null
 * for an address that is none of CUDA.
 *
 * @throws TypeError, RangeError for another value. Error ERR_CUDA_NOT_FOUND, ERR_CUDA_TOO_OLD.
 * CudaError if the driver fails.
 */
export function pointerAttributes(pointer: bigint): PointerAttributes | null {
  checkPointer('pointer', pointer);
  const found = call((cuda) => cuda.pointerAttributes(pointer));
  if (found === undefined) return null;
  const { onHost, managed, device, start, byteLength } = found;
  return { type: managed ? 'managed' : onHost ? 'host' : 'device', device, start, byteLength };
}
