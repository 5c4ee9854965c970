import { AcceleratorError, type CodedError, coded, type Failure } from '../accelerator/errors.js';

/** A call of SynapseAI that failed: `synOutOfDeviceMemory, synDeviceMalloc`. */
export class SynapseaiError extends AcceleratorError {
  /** @internal */
  constructor({ result, text, syscall }: Failure) {
    const code = NAMES[result] ?? `synStatus_${result}`;
    super({ result, code, text, syscall }, hintOf(result, syscall));
  }
}

Object.defineProperty(SynapseaiError.prototype, 'name', {
  value: 'SynapseaiError',
  configurable: true,
});

const OUT_OF_DEVICE_MEMORY = 4;
/** synNoDeviceFound */
export const NO_DEVICE_FOUND = 8;

// synStatus, as far as the calls of this package return it.
const NAMES: Readonly<Record<number, string>> = {
  1: 'synInvalidArgument',
  3: 'synOutOfHostMemory',
  [OUT_OF_DEVICE_MEMORY]: 'synOutOfDeviceMemory',
  5: 'synObjectAlreadyInitialized',
  6: 'synObjectNotInitialized',
  7: 'synCommandSubmissionFailure',
  [NO_DEVICE_FOUND]: 'synNoDeviceFound',
  9: 'synDeviceTypeMismatch',
  14: 'synFailedToAllocateDeviceMemory',
  15: 'synFailedToFreeDeviceMemory',
  16: 'synFailedNotEnoughDevicesFound',
  17: 'synDeviceReset',
  18: 'synUnsupported',
  20: 'synDeviceAlreadyAcquired',
  22: 'synBusy',
  23: 'synAllResourcesTaken',
  24: 'synUnavailable',
  26: 'synFail',
  27: 'synOutOfResources',
  28: 'synUninitialized',
  29: 'synAlreadyInitialized',
  31: 'synSynapseTerminated',
  34: 'synMappingNotFound',
  42: 'synTimeout',
  43: 'synResourceBadUsage',
};

function hintOf(result: number, syscall: string): string | undefined {
  if (syscall === 'synInitialize') {
    return 'hl-smi tells more; a process needs /dev/accel, and in a container the runtime of habana';
  }
  if (syscall === 'synDeviceAcquireByModuleId') {
    return (
      'options.device is an index of devices(), a device belongs to one process, and a process may have one only: ' +
      'hl-smi shows who has it'
    );
  }
  if (syscall.startsWith('hlthunk_')) {
    return 'a dmabuf needs a range within the memory of allocate(), and a driver that exports it';
  }
  if (result === OUT_OF_DEVICE_MEMORY) {
    return 'hl-smi shows how much memory of the devices is used';
  }
  return undefined;
}

const SETUP = 'https://docs.habana.ai';

/** `ERR_SYNAPSEAI_NOT_FOUND`: libSynapse.so does not load, or libhl-thunk.so for dmabufs. */
export function synapseaiNotFound(cause: Error): CodedError {
  const lines = [
    `libSynapse.so (or libhl-thunk.so) of SynapseAI could not be loaded: ${cause.message}`,
    `Install the software of Gaudi (${SETUP}): the packages habanalabs-graph and habanalabs-thunk. Their libraries`,
    'are in /usr/lib/habanalabs: add this folder to LD_LIBRARY_PATH if the linker does not search it.',
  ];
  return coded('ERR_SYNAPSEAI_NOT_FOUND', lines, cause);
}

/** `ERR_SYNAPSEAI_TOO_OLD`: a library lacks a function. */
export function synapseaiTooOld(cause: Error): CodedError {
  const lines = [
    `libSynapse.so (or libhl-thunk.so) of SynapseAI is too old: ${cause.message}.`,
    `Install a newer version of the software of Gaudi (${SETUP}).`,
  ];
  return coded('ERR_SYNAPSEAI_TOO_OLD', lines, cause);
}
