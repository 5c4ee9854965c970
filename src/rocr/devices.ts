import { absenceOf } from '../accelerator/absence.js';
import { type AcceleratorDevice, devicesOf } from '../accelerator/devices.js';
import { OUT_OF_RESOURCES } from './errors.js';
import { call } from './native.js';

/**
 * The GPUs of AMD of this machine, in the order of the runtime. ROCR_VISIBLE_DEVICES hides some. Without GPUs
 * the list is empty, and {@link whyNoDevices} gives the reason.
 *
 * @throws Error ERR_ROCR_NOT_FOUND without the ROCm runtime, ERR_ROCR_TOO_OLD. RocrError if the
 * runtime fails.
 */
export function devices(): AcceleratorDevice[] {
  return devicesOf(call, ({ result, syscall }) => {
    return syscall === 'hsa_init' && result === OUT_OF_RESOURCES;
  });
}

/** Why there is no GPU of AMD. */
export type RocrAbsenceCode =
  /** `libhsa-runtime64.so.1` is not installed. */
  | 'ERR_ROCR_NOT_FOUND'
  /** The runtime lacks a function that this package calls. */
  | 'ERR_ROCR_TOO_OLD'
  /** The runtime is installed, but it has no GPU, or this process may not use it. */
  | 'ERR_NO_ROCR_DEVICE';

/** Why there is no GPU of AMD. */
export interface RocrAbsence {
  readonly code: RocrAbsenceCode;
  /** The reason and a remedy, in a few lines. */
  readonly message: string;
}

/** Whether this machine has a GPU of AMD that this process can use. Never throws. */
export const isAvailable = (): boolean => whyNoDevices() === null;

/** Why {@link devices} returns none or throws. Null if there are devices. */
export function whyNoDevices(): RocrAbsence | null {
  return absenceOf<RocrAbsenceCode>(CODES, whyNone);
}

const CODES = ['ERR_ROCR_NOT_FOUND', 'ERR_ROCR_TOO_OLD', 'ERR_NO_ROCR_DEVICE'] as const;

const whyNone = () =>
  devices().length > 0
    ? null
    : 'The ROCm runtime has no GPU: rocminfo tells more. A process needs the groups render and video for ' +
      '/dev/kfd and /dev/dri, and ROCR_VISIBLE_DEVICES hides GPUs.';
