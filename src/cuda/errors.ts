import { AcceleratorError, type CodedError, coded, type Failure } from '../accelerator/errors.js';

/** A call of the CUDA driver that failed: `CUDA_ERROR_OUT_OF_MEMORY: out of memory, cuMemAlloc`. */
export class CudaError extends AcceleratorError {
  /** @internal */
  constructor({ result, code, text, syscall }: Failure) {
    const failure = {
      result,
      syscall,
      code: code || `CUDA_ERROR_${result}`,
      text: text || 'unknown error',
    };
    super(failure, hintOf(result, syscall));
  }
}

Object.defineProperty(CudaError.prototype, 'name', { value: 'CudaError', configurable: true });

const INVALID_VALUE = 1;
const NOT_SUPPORTED = 801;

const HINTS: Readonly<Record<number, string>> = {
  2: 'nvidia-smi shows which processes use the memory of the device',
  46: 'another process has the device for itself: nvidia-smi -q -d COMPUTE',
  100: 'nvidia-smi lists the devices of the driver, and CUDA_VISIBLE_DEVICES may hide them',
  101: 'devices() lists the devices',
  700: 'a kernel has accessed a wrong address: this process must be restarted',
  719: 'a kernel has failed: this process must be restarted',
  802: 'start the fabric manager: systemctl start nvidia-fabricmanager',
  803: 'the library and the kernel module are of different drivers: restart the machine',
  999: 'the kernel module may be missing: sudo modprobe nvidia-uvm',
};

function hintOf(result: number, syscall: string): string | undefined {
  const exports = syscall === 'cuMemGetHandleForAddressRange';
  if (exports && (result === NOT_SUPPORTED || result === INVALID_VALUE)) {
    return 'a dmabuf needs the open kernel modules of the driver and Linux 5.12, and memory of cuMemAlloc';
  }
  return HINTS[result];
}

/** `ERR_CUDA_NOT_FOUND`: libcuda.so.1 does not load. */
export function cudaNotFound(cause: Error): CodedError {
  const lines = [
    `libcuda.so.1 of the NVIDIA driver could not be loaded: ${cause.message}`,
    'Install the driver of the GPU (https://docs.nvidia.com/datacenter/tesla/driver-installation-guide), or use an',
    'image that has it, such as the AWS Deep Learning AMIs. A container needs the NVIDIA Container Toolkit:',
    'docker run --gpus all.',
  ];
  return coded('ERR_CUDA_NOT_FOUND', lines, cause);
}

/** `ERR_CUDA_TOO_OLD`: the driver lacks a function. */
export function cudaTooOld(cause: Error): CodedError {
  const lines = [
    `libcuda.so.1 of the NVIDIA driver is too old: ${cause.message}.`,
    'Install the driver of CUDA 11.7 (515) or a later one.',
  ];
  return coded('ERR_CUDA_TOO_OLD', lines, cause);
}
