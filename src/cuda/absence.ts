import { devices } from './devices.js';
import { CudaError } from './errors.js';

/** Why there is no CUDA device. */
export type CudaAbsenceCode =
  /** `libcuda.so.1` is not installed. */
  | 'ERR_CUDA_NOT_FOUND'
  /** The driver is older than that of CUDA 11.7. */
  | 'ERR_CUDA_TOO_OLD'
  /** The driver is installed, but it has no device, or this process may not use it. */
  | 'ERR_NO_CUDA_DEVICE';

/** Why there is no CUDA device. */
export interface CudaAbsence {
  readonly code: CudaAbsenceCode;
  /** The reason and a remedy, in a few lines. */
  readonly message: string;
}

/** Whether this machine has a CUDA device that this process can use. Never throws. */
export const isAvailable = (): boolean => whyNoDevices() === null;

/** Why {@link devices} returns none or throws. Null if there are devices. */
export function whyNoDevices(): CudaAbsence | null {
  try {
    if (devices().length > 0) return null;
  } catch (error) {
    if (error instanceof CudaError) return { code: 'ERR_NO_CUDA_DEVICE', message: error.message };
    return absenceOf(error);
  }
  const message = 'The NVIDIA driver has no device: nvidia-smi and CUDA_VISIBLE_DEVICES tell more.';
  return { code: 'ERR_NO_CUDA_DEVICE', message };
}

function absenceOf(error: unknown): CudaAbsence {
  const { code, message } = error as CudaAbsence;
  if (code !== 'ERR_CUDA_NOT_FOUND' && code !== 'ERR_CUDA_TOO_OLD') throw error;
  return { code, message };
}
