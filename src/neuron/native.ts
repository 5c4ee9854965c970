import { acceleratorCall, type NativeMemory } from '../accelerator/native.js';
import { loadNeuron } from '../contract/load.js';
import type { NeuronVersion } from './cores.js';
import { NeuronError, neuronNotFound, neuronTooOld } from './errors.js';

/** The interface of native/neuron. */
export interface NativeNeuron extends NativeMemory {
  /** nrt_get_version */
  runtimeVersion(): NeuronVersion;
  /** nrt_get_total_nc_count, nrt_get_visible_nc_count */
  cores(): { total: number; visible: number };
  /** nrt_close */
  close(): void;
}

/** Calls the addon. Throws NeuronError, ERR_NEURON_NOT_FOUND or ERR_NEURON_TOO_OLD. */
export const call = acceleratorCall<NativeNeuron>(loadNeuron, {
  library: 'libnrt.so.1',
  notFound: neuronNotFound,
  tooOld: neuronTooOld,
  failed: (failure) => new NeuronError(failure),
});
