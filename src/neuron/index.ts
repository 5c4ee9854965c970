/**
 * A few calls of the AWS Neuron runtime: NeuronCores, memory and dmabufs, for Inferentia 2 and Trainium.
 * It loads `libnrt.so.1` at run time, and needs no libfabric.
 *
 * @module libfabric/neuron
 */
export { Dmabuf } from '../accelerator/dmabuf.js';
export { AcceleratorError } from '../accelerator/errors.js';
export { AcceleratorMemory, type AllocateOptions } from '../accelerator/memory.js';
export { isAvailable, type NeuronAbsence, type NeuronAbsenceCode, whyNoCores } from './absence.js';
export {
  close,
  cores,
  type NeuronCores,
  type NeuronVersion,
  runtimeVersion,
} from './cores.js';
export { exportDmabuf } from './dmabuf.js';
export { NeuronError } from './errors.js';
export { allocate, NeuronMemory } from './memory.js';
