import { checkExported, type Dmabuf, exportRange } from '../accelerator/dmabuf.js';
import type { HmemMemory } from '../memory/device-memory.js';
import { call } from './native.js';

/**
 * Exports memory of Neuron as a dmabuf, whichever library of this process has allocated it:
 * nrt_get_dmabuf_fd_v2. Runtimes that have only nrt_get_dmabuf_fd export from the start of an
 * allocation.
 *
 * The memory must not be freed while it is registered.
 *
 * @throws TypeError, RangeError for wrong arguments. Error ERR_NEURON_NOT_FOUND, ERR_NEURON_TOO_OLD.
 * NeuronError if the runtime cannot export the memory.
 */
export function exportDmabuf(memory: HmemMemory): Dmabuf {
  return exportRange(call, checkExported(memory, 'neuron'));
}
