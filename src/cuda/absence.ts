import { absenceOf } from '../accelerator/absence.js';
import { devices } from './devices.js';

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
  return absenceOf<CudaAbsenceCode>(CODES, whyNone);
}

const CODES = ['ERR_CUDA_NOT_FOUND', 'ERR_CUDA_TOO_OLD', 'ERR_NO_CUDA_DEVICE'] as const;

const whyNone = () =>
  devices().length > 0
    ? null
    : 'The NVIDIA driver has no device: nvidia-smi and CUDA_VISIBLE_DEVICES tell more.';
