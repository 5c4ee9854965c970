/**
 * A few calls of SynapseAI: Gaudi accelerators of Intel, memory and dmabufs. It loads `libSynapse.so` and
 * `libhl-thunk.so` at run time, and needs neither a framework nor libfabric.
 *
 * @module libfabric/synapseai
 */
export type { AcceleratorDevice } from '../accelerator/devices.js';
export { Dmabuf } from '../accelerator/dmabuf.js';
export { AcceleratorError } from '../accelerator/errors.js';
export { AcceleratorMemory, type AllocateOptions } from '../accelerator/memory.js';
export {
  devices,
  isAvailable,
  type SynapseaiAbsence,
  type SynapseaiAbsenceCode,
  whyNoDevices,
} from './devices.js';
export { SynapseaiError } from './errors.js';
export { allocate, exportDmabuf, SynapseaiMemory } from './memory.js';
