/**
 * A few calls of the ROCm runtime (HSA): GPUs of AMD, memory and dmabufs. It loads
 * `libhsa-runtime64.so.1` at run time, and needs neither HIP nor libfabric.
 *
 * @module libfabric/rocr
 */
export type { AcceleratorDevice } from '../accelerator/devices.js';
export { Dmabuf } from '../accelerator/dmabuf.js';
export { AcceleratorError } from '../accelerator/errors.js';
export { AcceleratorMemory, type AllocateOptions } from '../accelerator/memory.js';
export {
  devices,
  isAvailable,
  type RocrAbsence,
  type RocrAbsenceCode,
  whyNoDevices,
} from './devices.js';
export { RocrError } from './errors.js';
export { allocate, exportDmabuf, RocrMemory } from './memory.js';
