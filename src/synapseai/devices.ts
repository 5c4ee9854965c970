import { absenceOf } from '../accelerator/absence.js';
import { type AcceleratorDevice, devicesOf } from '../accelerator/devices.js';
import { NO_DEVICE_FOUND } from './errors.js';
import { call } from './native.js';

/**
 * The Gaudi accelerators of this machine, also those of other processes. The index is the module id. Their PCI
 * addresses are not known. HABANA_VISIBLE_MODULES hides some. Without devices the list is empty, and
 * {@link whyNoDevices} gives the reason.
 *
 * @throws Error ERR_SYNAPSEAI_NOT_FOUND without SynapseAI, ERR_SYNAPSEAI_TOO_OLD. SynapseaiError if it fails.
 */
export function devices(): AcceleratorDevice[] {
  return devicesOf(call, ({ result }) => result === NO_DEVICE_FOUND);
}

/** Why there is no Gaudi accelerator. */
export type SynapseaiAbsenceCode =
  /** `libSynapse.so` is not installed. */
  | 'ERR_SYNAPSEAI_NOT_FOUND'
  /** The library lacks a function that this package calls. */
  | 'ERR_SYNAPSEAI_TOO_OLD'
  /** The library is installed, but it has no device, or this process may not use it. */
  | 'ERR_NO_SYNAPSEAI_DEVICE';

/** Why there is no Gaudi accelerator. */
export interface SynapseaiAbsence {
  readonly code: SynapseaiAbsenceCode;
  /** The reason and a remedy, in a few lines. */
  readonly message: string;
}

/** Whether this machine has a Gaudi accelerator. Never throws. */
export const isAvailable = (): boolean => whyNoDevices() === null;

/** Why {@link devices} returns none or throws. Null if there are devices. */
export function whyNoDevices(): SynapseaiAbsence | null {
  return absenceOf<SynapseaiAbsenceCode>(CODES, whyNone);
}

const CODES = [
  'ERR_SYNAPSEAI_NOT_FOUND',
  'ERR_SYNAPSEAI_TOO_OLD',
  'ERR_NO_SYNAPSEAI_DEVICE',
] as const;

const whyNone = () =>
  devices().length > 0
    ? null
    : 'The SynapseAI library has no device: hl-smi tells more. A process needs /dev/accel, and ' +
      'HABANA_VISIBLE_MODULES hides devices.';
