import { AcceleratorError, type CodedError, coded, type Failure } from '../accelerator/errors.js';

/** A call of Level Zero that failed: `ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, zeMemAllocDevice`. */
export class ZeError extends AcceleratorError {
  /** @internal */
  constructor({ result, text, syscall }: Failure) {
    const code = `ZE_RESULT_${NAMES[result] ?? `0x${result.toString(16)}`}`;
    super({ result, code, text, syscall }, hintOf(result, syscall));
  }
}

Object.defineProperty(ZeError.prototype, 'name', { value: 'ZeError', configurable: true });

/** ZE_RESULT_ERROR_UNINITIALIZED */
export const UNINITIALIZED = 0x78000001;
const OUT_OF_DEVICE_MEMORY = 0x70000003;
const INVALID_ARGUMENT = 0x78000004;

// ze_result_t, as far as the calls of this package return it. Level Zero has no function that names them.
const NAMES: Readonly<Record<number, string>> = {
  1: 'NOT_READY',
  1879048193: 'ERROR_DEVICE_LOST',
  1879048194: 'ERROR_OUT_OF_HOST_MEMORY',
  [OUT_OF_DEVICE_MEMORY]: 'ERROR_OUT_OF_DEVICE_MEMORY',
  1879048198: 'ERROR_DEVICE_REQUIRES_RESET',
  1879048199: 'ERROR_DEVICE_IN_LOW_POWER_STATE',
  1879113728: 'ERROR_INSUFFICIENT_PERMISSIONS',
  1879113729: 'ERROR_NOT_AVAILABLE',
  1879179264: 'ERROR_DEPENDENCY_UNAVAILABLE',
  [UNINITIALIZED]: 'ERROR_UNINITIALIZED',
  2013265922: 'ERROR_UNSUPPORTED_VERSION',
  2013265923: 'ERROR_UNSUPPORTED_FEATURE',
  [INVALID_ARGUMENT]: 'ERROR_INVALID_ARGUMENT',
  2013265925: 'ERROR_INVALID_NULL_HANDLE',
  2013265926: 'ERROR_HANDLE_OBJECT_IN_USE',
  2013265927: 'ERROR_INVALID_NULL_POINTER',
  2013265928: 'ERROR_INVALID_SIZE',
  2013265929: 'ERROR_UNSUPPORTED_SIZE',
  2013265930: 'ERROR_UNSUPPORTED_ALIGNMENT',
  2013265932: 'ERROR_INVALID_ENUMERATION',
  2013265933: 'ERROR_UNSUPPORTED_ENUMERATION',
  2013265953: 'ERROR_ADDRESS_NOT_FOUND',
  2147483646: 'ERROR_UNKNOWN',
};

function hintOf(result: number, syscall: string): string | undefined {
  if (syscall === 'zeInit') {
    return 'install the driver of the GPU; a process needs the group render for /dev/dri';
  }
  if (syscall === 'zeDeviceGet' && result === INVALID_ARGUMENT) {
    return 'options.device is an index of devices()';
  }
  if (syscall === 'zeMemGetAllocProperties' || syscall === 'zeMemGetAddressRange') {
    return 'a dmabuf needs a range within one allocation of allocate(), and a driver that exports it';
  }
  if (result === OUT_OF_DEVICE_MEMORY) {
    return 'xpu-smi ps shows which processes use the memory of the GPUs';
  }
  return undefined;
}

const SETUP = 'https://dgpu-docs.intel.com';

/** `ERR_ZE_NOT_FOUND`: libze_loader.so.1 does not load. */
export function zeNotFound(cause: Error): CodedError {
  const lines = [
    `libze_loader.so.1 of oneAPI Level Zero could not be loaded: ${cause.message}`,
    `Install the loader and the driver of the GPU (${SETUP}): the packages libze1 and libze-intel-gpu1 (Debian,`,
    'Ubuntu), or level-zero and intel-level-zero-gpu.',
  ];
  return coded('ERR_ZE_NOT_FOUND', lines, cause);
}

/** `ERR_ZE_TOO_OLD`: the loader lacks a function. */
export function zeTooOld(cause: Error): CodedError {
  const lines = [
    `libze_loader.so.1 of oneAPI Level Zero is too old: ${cause.message}.`,
    `Install a newer loader (${SETUP}).`,
  ];
  return coded('ERR_ZE_TOO_OLD', lines, cause);
}
