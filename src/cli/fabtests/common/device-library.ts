import type { AcceleratorMemory } from '../../../accelerator/memory.js';
import * as cuda from '../../../cuda/index.js';
import * as neuron from '../../../neuron/index.js';
import type { DeviceMemorySettings, DeviceType } from './settings.js';

/** A library that allocates the memory of `-D`. */
interface DeviceLibrary {
  /** The library that libfabric must be built with to take pointers of the devices. */
  readonly build: string;
  readonly hmem: Exclude<DeviceMemorySettings['access'], 'FI_MR_DMABUF' | undefined>;
  readonly allocate: (byteLength: number, options: { device: number }) => AcceleratorMemory;
  /** Prepares this process, before libfabric looks for the devices. */
  readonly start?: (device: number) => void;
  /** `'CUDA device 0 (NVIDIA H100)'`. Throws if there is no such device. */
  readonly nameOf: (device: number) => string;
}

/** The libraries, by their names in `-D`. */
export const DEVICE_LIBRARIES: Readonly<Record<DeviceType, DeviceLibrary>> = {
  cuda: {
    build: 'CUDA',
    hmem: 'FI_HMEM_CUDA',
    allocate: cuda.allocate,
    nameOf(device) {
      const all = cuda.devices();
      const found = all[device];
      if (found !== undefined) return `CUDA device ${device} (${found.name})`;
      if (all.length === 0) throw new Error(`-D cuda: ${cuda.whyNoDevices()?.message}`);
      throw new Error(`-i ${device}: the last CUDA device is ${all.length - 1}`);
    },
  },
  neuron: {
    build: 'Neuron',
    hmem: 'FI_HMEM_NEURON',
    allocate: neuron.allocate,
    // libfabric 2.1 to 2.4 allocate memory to check whether efa can reach it. This needs a started runtime
    // (efa_hmem_info_check_p2p_support_neuron in prov/efa/src/efa_hmem.c).
    start: (device) => neuron.allocate(1, { device }).free(),
    nameOf(device) {
      const { visible } = neuron.cores();
      if (visible === 0) throw new Error(`-D neuron: ${neuron.whyNoCores()?.message}`);
      if (device >= visible) {
        throw new Error(`-i ${device}: the last NeuronCore of this process is ${visible - 1}`);
      }
      const { version, detail } = neuron.runtimeVersion();
      const runtime = [`runtime ${version}`, detail].filter(Boolean).join(', ');
      return `NeuronCore ${device} (${runtime})`;
    },
  },
};
