/**
 * A few calls of the CUDA driver: devices, memory and dmabufs. It loads `libcuda.so.1` of the NVIDIA
 * driver at run time, and needs neither the CUDA toolkit nor libfabric.
 *
 * @module libfabric/cuda
 */
export { Dmabuf } from '../accelerator/dmabuf.js';
export { AcceleratorError } from '../accelerator/errors.js';
export { AcceleratorMemory, type AllocateOptions } from '../accelerator/memory.js';
export { type CudaAbsence, type CudaAbsenceCode, isAvailable, whyNoDevices } from './absence.js';
export { type CudaDevice, devices, driverVersion } from './devices.js';
export { exportDmabuf } from './dmabuf.js';
export { CudaError } from './errors.js';
export { allocate, CudaMemory } from './memory.js';
export { type PointerAttributes, pointerAttributes } from './pointer.js';
