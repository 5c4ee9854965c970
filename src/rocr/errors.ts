import { AcceleratorError, type CodedError, coded, type Failure } from '../accelerator/errors.js';

/** A call of the ROCm runtime that failed: `HSA_STATUS_ERROR_OUT_OF_RESOURCES: ..., hsa_init`. */
export class RocrError extends AcceleratorError {
  /** @internal */
  constructor({ result, code, text, syscall }: Failure) {
    const name = code || `HSA_STATUS_0x${result.toString(16)}`;
    super({ result, code: name, text, syscall }, hintOf(result, syscall));
  }
}

Object.defineProperty(RocrError.prototype, 'name', { value: 'RocrError', configurable: true });

const INVALID_AGENT = 0x1004; // HSA_STATUS_ERROR_INVALID_AGENT
/** HSA_STATUS_ERROR_OUT_OF_RESOURCES */
export const OUT_OF_RESOURCES = 0x1008;

function hintOf(result: number, syscall: string): string | undefined {
  if (syscall === 'hsa_init') {
    return 'rocminfo tells more; a process needs the groups render and video for /dev/kfd and /dev/dri';
  }
  if (syscall === 'hsa_iterate_agents' && result === INVALID_AGENT) {
    return 'options.device is an index of devices()';
  }
  if (syscall === 'hsa_amd_portable_export_dmabuf') {
    return 'a dmabuf needs a range within one allocation on a GPU, and an amdgpu driver that exports them (KFD 1.12)';
  }
  if (result === OUT_OF_RESOURCES) {
    return 'rocm-smi --showpids shows which processes use the memory of the GPUs';
  }
  return undefined;
}

const SETUP = 'https://rocm.docs.amd.com/projects/install-on-linux';

/** `ERR_ROCR_NOT_FOUND`: libhsa-runtime64.so.1 does not load. */
export function rocrNotFound(cause: Error): CodedError {
  const lines = [
    `libhsa-runtime64.so.1 of the ROCm runtime could not be loaded: ${cause.message}`,
    `Install ROCm (${SETUP}), or the package libhsa-runtime64-1 (Debian, Ubuntu) or`,
    'rocm-runtime (Fedora). The library of ROCm is in /opt/rocm/lib: add this folder to LD_LIBRARY_PATH if the linker',
    'does not search it.',
  ];
  return coded('ERR_ROCR_NOT_FOUND', lines, cause);
}

/** `ERR_ROCR_TOO_OLD`: the runtime lacks a function. */
export function rocrTooOld(cause: Error): CodedError {
  const lines = [
    `libhsa-runtime64.so.1 of the ROCm runtime is too old: ${cause.message}.`,
    `Install a newer ROCm (${SETUP}). That of Debian 12 (5.2) exports no dmabufs.`,
  ];
  return coded('ERR_ROCR_TOO_OLD', lines, cause);
}
