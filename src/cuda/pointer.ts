import { checkPointer } from '../accelerator/dmabuf.js';
import { call } from './native.js';

/** The driver's attributes of an address. */
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
 * The driver's attributes of an address that any library of this process has allocated:
 * cuPointerGetAttribute. Null for an address that is not in CUDA's memory.
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
