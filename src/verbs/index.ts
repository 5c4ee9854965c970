/**
 * The RDMA devices of this machine and their counters, from rdma-core and sysfs, without libfabric.
 *
 * @module libfabric/verbs
 */

export type { Reader } from '../base/arrivals.js';
export { type Absence, type AbsenceCode, whyNoDevices } from './absence.js';
export type { AcceleratorVendor, NearAccelerator, PciDistance } from './accelerators.js';
export {
  type CounterSample,
  type Counters,
  type CountersOptions,
  counters,
  type WatchOptions,
} from './counters.js';
export type {
  Device,
  DeviceLimits,
  EfaAttributes,
  EfaCapability,
  Gid,
  LinkLayer,
  PhysicalState,
  Port,
  PortState,
} from './device-types.js';
export { devices } from './devices.js';
export { VerbsError } from './errors.js';
