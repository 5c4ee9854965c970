import type { NativeAccelerator } from '../accelerator/devices.js';
import { acceleratorCall } from '../accelerator/native.js';
import { loadZe } from '../contract/load.js';
import { ZeError, zeNotFound, zeTooOld } from './errors.js';

/** Calls the addon. Throws ZeError, ERR_ZE_NOT_FOUND or ERR_ZE_TOO_OLD. */
export const call = acceleratorCall<NativeAccelerator>(loadZe, {
  library: 'libze_loader.so.1',
  notFound: zeNotFound,
  tooOld: zeTooOld,
  failed: (failure) => new ZeError(failure),
});
