import type { NativeAccelerator } from '../accelerator/devices.js';
import { acceleratorCall } from '../accelerator/native.js';
import { loadSynapseai } from '../contract/load.js';
import { SynapseaiError, synapseaiNotFound, synapseaiTooOld } from './errors.js';

/** Calls the addon. Throws SynapseaiError, ERR_SYNAPSEAI_NOT_FOUND or ERR_SYNAPSEAI_TOO_OLD. */
export const call = acceleratorCall<NativeAccelerator>(loadSynapseai, {
  library: 'libSynapse.so',
  notFound: synapseaiNotFound,
  tooOld: synapseaiTooOld,
  failed: (failure) => new SynapseaiError(failure),
});
