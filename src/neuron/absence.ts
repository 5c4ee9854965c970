import { absenceOf } from '../accelerator/absence.js';
import { cores } from './cores.js';

/** Why there is no NeuronCore. */
export type NeuronAbsenceCode =
  /** `libnrt.so.1` is not installed. */
  | 'ERR_NEURON_NOT_FOUND'
  /** The runtime lacks a function that this package calls. */
  | 'ERR_NEURON_TOO_OLD'
  /** The runtime is installed, but it has no core, or this process may not use it. */
  | 'ERR_NO_NEURON_CORE';

/** Why there is no NeuronCore. */
export interface NeuronAbsence {
  readonly code: NeuronAbsenceCode;
  /** The reason and a remedy, in a few lines. */
  readonly message: string;
}

/** Whether this machine has a NeuronCore that this process can use. Never throws. */
export const isAvailable = (): boolean => whyNoCores() === null;

/** Why {@link cores} counts none or throws. Null if there are cores. */
export function whyNoCores(): NeuronAbsence | null {
  return absenceOf<NeuronAbsenceCode>(CODES, whyNone);
}

const CODES = ['ERR_NEURON_NOT_FOUND', 'ERR_NEURON_TOO_OLD', 'ERR_NO_NEURON_CORE'] as const;

function whyNone(): string | null {
  const { total, visible } = cores();
  if (visible > 0) return null;
  return total > 0
    ? `NEURON_RT_VISIBLE_CORES or NEURON_RT_NUM_CORES hides the ${total} NeuronCores.`
    : 'The Neuron runtime has no core: neuron-ls and the module neuron (lsmod) tell more.';
}
