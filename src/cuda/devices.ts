import { sysfsRoot, textNumber } from '../base/sysfs.js';
import { CudaError } from './errors.js';
import { call, type NativeDevice } from './native.js';

/** A CUDA device of this machine. */
export interface CudaDevice {
  /** For {@link allocate}, and as `device` of device memory. CUDA_VISIBLE_DEVICES changes it. */
  readonly index: number;
  /** `'NVIDIA H100 80GB HBM3'`. */
  readonly name: string;
  /** `'0000:53:00.0'`, as in sysfs. */
  readonly pciAddress: string;
  /** Null if the machine has one node or does not report it. */
  readonly numaNode: number | null;
  /** Bytes. */
  readonly memory: number;
  /** `'9.0'`. */
  readonly computeCapability: string;
  /** Whether the device supports GPUDirect RDMA with nvidia-peermem. */
  readonly gpuDirectRdma: boolean;
  /** Whether the driver can export the device's memory as a dmabuf. */
  readonly dmabuf: boolean;
}

const NO_DEVICE = 100;

/**
 * The CUDA devices of this machine. Without devices the list is empty, and {@link whyNoDevices}
 * gives the reason.
 *
 * @throws Error ERR_CUDA_NOT_FOUND without the NVIDIA driver, ERR_CUDA_TOO_OLD. CudaError if the
 * driver fails.
 */
export function devices(): CudaDevice[] {
  try {
    return call((cuda) => cuda.devices()).map(describe);
  } catch (error) {
    if (error instanceof CudaError && error.result === NO_DEVICE) return [];
    throw error;
  }
}

/**
 * The CUDA version of the driver: `'12.4'`.
 *
 * @throws Error ERR_CUDA_NOT_FOUND, ERR_CUDA_TOO_OLD. CudaError if the driver fails.
 */
export function driverVersion(): string {
  const version = call((cuda) => cuda.driverVersion());
  return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
}

function describe(device: NativeDevice, index: number): CudaDevice {
  const { name, memory, gpuDirectRdma, dmabuf, major, minor } = device;
  const pciAddress = device.pciBusId.toLowerCase();
  const numaNode = textNumber(sysfsRoot(), 'bus/pci/devices', pciAddress, 'numa_node');
  const computeCapability = `${major}.${minor}`;
  return { index, name, pciAddress, numaNode, memory, computeCapability, gpuDirectRdma, dmabuf };
}
