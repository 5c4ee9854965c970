import { type Dmabuf, exportedBy } from '../accelerator/dmabuf.js';
import { AcceleratorMemory, type AllocateOptions, allocateOn } from '../accelerator/memory.js';
import type { HmemMemory } from '../memory/device-memory.js';
import { call } from './native.js';

const KIND = { name: 'SynapseaiMemory', call, exportDmabuf };

/**
 * Allocates memory of a Gaudi accelerator: synDeviceMalloc, of whole pages. Its content is undefined. The first
 * call for a device acquires it, and the process keeps it until it ends. SynapseAI gives a process one device.
 *
 * @throws TypeError, RangeError for wrong arguments. Error ERR_SYNAPSEAI_NOT_FOUND, ERR_SYNAPSEAI_TOO_OLD.
 * SynapseaiError synOutOfDeviceMemory, or of synDeviceAcquireByModuleId if there is no such device, another process
 * has it, or this one has another.
 */
export function allocate(byteLength: number, options: AllocateOptions = {}): SynapseaiMemory {
  return new SynapseaiMemory(allocateOn(KIND, byteLength, options));
}

/** Memory of a Gaudi accelerator: {@link allocate}. Failed calls throw SynapseaiError. */
export class SynapseaiMemory extends AcceleratorMemory {
  readonly type = 'synapseai';
}

/**
 * Exports memory of {@link allocate} as a dmabuf: hlthunk_device_mapped_memory_export_dmabuf_fd of `libhl-thunk.so`.
 *
 * The memory must not be freed while it is registered.
 *
 * @throws TypeError, RangeError for wrong arguments. Error ERR_SYNAPSEAI_NOT_FOUND, ERR_SYNAPSEAI_TOO_OLD.
 * SynapseaiError synInvalidArgument for an address before the memory of the device, synFail if the driver cannot
 * export the range.
 */
export function exportDmabuf(memory: HmemMemory): Dmabuf {
  return exportedBy(call, memory, 'synapseai');
}
