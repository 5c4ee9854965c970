import { call } from './native.js';

/** The version of the Neuron runtime. */
export interface NeuronVersion {
  /** `'2.21.41.0'`: major, minor, patch and maintenance. */
  readonly version: string;
  /** The runtime's own description, which may be empty. */
  readonly detail: string;
}

/**
 * The version of `libnrt.so.1`.
 *
 * @throws Error ERR_NEURON_NOT_FOUND, ERR_NEURON_TOO_OLD. NeuronError if the runtime fails.
 */
export const runtimeVersion = (): NeuronVersion => call((neuron) => neuron.runtimeVersion());

/** The numbers of NeuronCores. */
export interface NeuronCores {
  /** Of this machine. */
  readonly total: number;
  /** Of this process: NEURON_RT_VISIBLE_CORES and NEURON_RT_NUM_CORES choose them. */
  readonly visible: number;
}

/**
 * Counts the NeuronCores. It does not take them: other processes may use them.
 *
 * @throws Error ERR_NEURON_NOT_FOUND without the Neuron runtime, ERR_NEURON_TOO_OLD. NeuronError if
 * the runtime fails, as it does without devices.
 */
export const cores = (): NeuronCores => call((neuron) => neuron.cores());

/**
 * Releases the NeuronCores that allocate() has taken for this process: nrt_close. Does nothing if allocate() has
 * taken none. Do not call it if another library of this process uses the runtime, too. A runtime
 * that does not start twice in a process fails later calls with NRT_CLOSED.
 *
 * @throws Error ERR_INVALID_STATE while memory is allocated. Error ERR_NEURON_NOT_FOUND,
 * ERR_NEURON_TOO_OLD.
 */
export function close(): void {
  call((neuron) => neuron.close());
}
