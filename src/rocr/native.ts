import type { NativeAccelerator } from '../accelerator/devices.js';
import { acceleratorCall } from '../accelerator/native.js';
import { loadRocr } from '../contract/load.js';
import { RocrError, rocrNotFound, rocrTooOld } from './errors.js';

/** Calls the addon. Throws RocrError, ERR_ROCR_NOT_FOUND or ERR_ROCR_TOO_OLD. */
export const call = acceleratorCall<NativeAccelerator>(loadRocr, {
  library: 'libhsa-runtime64.so.1',
  notFound: rocrNotFound,
  tooOld: rocrTooOld,
  failed: (failure) => new RocrError(failure),
});
