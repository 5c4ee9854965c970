/**
 * A few calls of oneAPI Level Zero: GPUs of Intel, memory and dmabufs. It loads `libze_loader.so.1` at run
 * time, and needs neither SYCL nor libfabric.
 *
 * @module libfabric/ze
 */
export type { AcceleratorDevice } from '../accelerator/devices.js';
export { Dmabuf } from '../accelerator/dmabuf.js';
export { AcceleratorError } from '../accelerator/errors.js';
export { AcceleratorMemory, type AllocateOptions } from '../accelerator/memory.js';
export {
  devices,
  isAvailable,
  whyNoDevices,
  type ZeAbsence,
  type ZeAbsenceCode,
} from './devices.js';
export { ZeError } from './errors.js';
export { allocate, exportDmabuf, ZeMemory } from './memory.js';
