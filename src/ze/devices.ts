import { absenceOf } from '../accelerator/absence.js';
import { type AcceleratorDevice, devicesOf } from '../accelerator/devices.js';
import { UNINITIALIZED } from './errors.js';
import { call } from './native.js';

/**
 * The GPUs of Level Zero of this machine. The index of a GPU is the index of its driver << 16 | its index in the
 * driver, so that those of the first driver count from 0; libfabric knows no others. ZE_AFFINITY_MASK hides
 * some. Without GPUs the list is empty, and {@link whyNoDevices} gives the reason.
 *
 * @throws Error ERR_ZE_NOT_FOUND without the loader of Level Zero, ERR_ZE_TOO_OLD. ZeError if a driver
 * fails.
 */
export function devices(): AcceleratorDevice[] {
  return devicesOf(call, ({ result, syscall }) => syscall === 'zeInit' && result === UNINITIALIZED);
}

/** Why there is no GPU of Level Zero. */
export type ZeAbsenceCode =
  /** `libze_loader.so.1` is not installed. */
  | 'ERR_ZE_NOT_FOUND'
  /** The loader lacks a function that this package calls. */
  | 'ERR_ZE_TOO_OLD'
  /** The loader is installed, but it has no driver or no GPU, or this process may not use it. */
  | 'ERR_NO_ZE_DEVICE';

/** Why there is no GPU of Level Zero. */
export interface ZeAbsence {
  readonly code: ZeAbsenceCode;
  /** The reason and a remedy, in a few lines. */
  readonly message: string;
}

/** Whether this machine has a GPU of Level Zero that this process can use. Never throws. */
export const isAvailable = (): boolean => whyNoDevices() === null;

/** Why {@link devices} returns none or throws. Null if there are devices. */
export function whyNoDevices(): ZeAbsence | null {
  return absenceOf<ZeAbsenceCode>(CODES, whyNone);
}

const CODES = ['ERR_ZE_NOT_FOUND', 'ERR_ZE_TOO_OLD', 'ERR_NO_ZE_DEVICE'] as const;

const whyNone = () =>
  devices().length > 0
    ? null
    : 'The loader of Level Zero has no GPU: install the driver of the GPU (libze-intel-gpu1 or intel-level-zero-gpu). ' +
      'A process needs the group render for /dev/dri, and ZE_AFFINITY_MASK hides GPUs.';
