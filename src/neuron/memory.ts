import { AcceleratorMemory, type AllocateOptions, allocateOn } from '../accelerator/memory.js';
import { exportDmabuf } from './dmabuf.js';
import { call } from './native.js';

const KIND = { name: 'NeuronMemory', call, exportDmabuf };

/**
 * Allocates memory of a NeuronCore, whose index among the visible ones is `device`: nrt_tensor_allocate.
 * Its content is undefined. The first call takes the visible cores for this process: nrt_init.
 *
 * @throws TypeError, RangeError for wrong arguments. Error ERR_NEURON_NOT_FOUND, ERR_NEURON_TOO_OLD;
 * ERR_NEURON_NO_ADDRESS if the runtime does not map the memory. NeuronError NRT_RESOURCE, NRT_INVALID.
 */
export function allocate(byteLength: number, options: AllocateOptions = {}): NeuronMemory {
  return new NeuronMemory(allocateOn(KIND, byteLength, options));
}

/** Memory of a NeuronCore: {@link allocate}. Failed calls throw NeuronError. */
export class NeuronMemory extends AcceleratorMemory {
  readonly type = 'neuron';
}
