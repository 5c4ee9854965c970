import { AcceleratorError, type CodedError, coded, type Failure } from '../accelerator/errors.js';

/** A call of the Neuron runtime that failed: `NRT_RESOURCE, nrt_tensor_allocate`. */
export class NeuronError extends AcceleratorError {
  /** @internal */
  constructor({ result, code, text, syscall }: Failure) {
    super({ result, code: code || `NRT_${result}`, text, syscall }, hintOf(result, syscall));
  }
}

Object.defineProperty(NeuronError.prototype, 'name', { value: 'NeuronError', configurable: true });

const INIT_HINT =
  'neuron-ls shows the devices and the processes that hold their cores; NEURON_RT_VISIBLE_CORES chooses cores';

const INVALID = 2; // NRT_INVALID
const CORE_CALLS = ['nrt_tensor_allocate', 'nrt_get_visible_nc_count'];

// NRT_STATUS of nrt_status.h
const HINTS: Readonly<Record<number, string>> = {
  4: 'neuron-top shows which processes use the memory of the devices',
  9: INIT_HINT,
  13: 'nrt_init was not called, or another library of this process has called nrt_close',
  14: 'the runtime was closed in this process: start a new one',
  1005: INIT_HINT,
};

function hintOf(result: number, syscall: string): string | undefined {
  if (syscall === 'nrt_init') return INIT_HINT;
  if (result === INVALID && CORE_CALLS.includes(syscall)) {
    return 'device is an index of the visible cores, which cores() counts';
  }
  if (syscall.startsWith('nrt_get_dmabuf_fd')) {
    return 'a dmabuf needs a Neuron driver with dmabufs (aws-neuronx-dkms), and memory of this process';
  }
  return HINTS[result];
}

const SETUP = 'https://awsdocs-neuron.readthedocs-hosted.com';

/** `ERR_NEURON_NOT_FOUND`: libnrt.so.1 does not load. */
export function neuronNotFound(cause: Error): CodedError {
  const lines = [
    `libnrt.so.1 of the AWS Neuron runtime could not be loaded: ${cause.message}`,
    `Install the packages aws-neuronx-dkms and aws-neuronx-runtime-lib (${SETUP}), or use an`,
    'image that has them, such as the AWS Deep Learning AMIs. The library is in /opt/aws/neuron/lib: add this',
    'folder to LD_LIBRARY_PATH if the linker does not search it.',
  ];
  return coded('ERR_NEURON_NOT_FOUND', lines, cause);
}

/** `ERR_NEURON_TOO_OLD`: the runtime lacks a function. */
export function neuronTooOld(cause: Error): CodedError {
  const lines = [
    `libnrt.so.1 of the AWS Neuron runtime is too old: ${cause.message}.`,
    `Install a newer aws-neuronx-runtime-lib (${SETUP}).`,
  ];
  return coded('ERR_NEURON_TOO_OLD', lines, cause);
}
