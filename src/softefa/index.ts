/**
 * A software EFA device, which lets the efa provider run on any Linux machine, and its faults.
 *
 * @module libfabric/softefa
 */
export { hasEfaDevice } from './devices.js';
export {
  type Conditions,
  type Fault,
  type FaultKind,
  type FaultOptions,
  SoftefaFaults,
} from './faults.js';
export { loadSoftefa, removeSoftefa, softefaEnvironment, softefaLibrary } from './load.js';
export type { SoftefaCapability, SoftefaOptions } from './options.js';
