import { constants } from 'node:os';
import { callerOf, loadVerbs } from '../contract/load.js';
import type { DeviceLimits } from './device-types.js';
import { rdmaCoreNotFound, VerbsError } from './errors.js';

/** The interface of native/verbs. Numbers are those of rdma-core. */
export interface NativeVerbs {
  /** ibv_get_device_list(3). `path` is the device's folder in sysfs. */
  list(): { name: string; path: string; guid: bigint }[];
  /** ibv_query_device(3), ibv_query_port(3), ibv_query_gid(3) */
  query(name: string): NativeDevice;
  /** efadv_query_device(3) */
  queryEfa(name: string): NativeEfa;
}

export interface NativeDevice {
  firmware: string;
  sysImageGuid: bigint;
  vendorId: number;
  vendorPartId: number;
  hardwareVersion: number;
  capFlags: number;
  atomicCap: number;
  limits: DeviceLimits;
  ports: NativePort[];
}

export interface NativePort {
  number: number;
  state: number;
  physicalState: number;
  linkLayer: number;
  maxMtu: number;
  activeMtu: number;
  maxMessageSize: number;
  lid: number;
  activeWidth: number;
  activeSpeed: number;
  gids: { index: number; bytes: Uint8Array }[];
}

export interface NativeEfa {
  compMask: bigint;
  maxSqWr: number;
  maxRqWr: number;
  maxSqSge: number;
  maxRqSge: number;
  inlineBufSize: number;
  inlineBufSizeEx: number;
  deviceCaps: number;
  maxRdmaSize: number;
}

/** Calls the addon. Throws VerbsError, or ERR_RDMA_CORE_NOT_FOUND. */
const call = callerOf<NativeVerbs>(loadVerbs, explain);

function explain(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if ('library' in error) return rdmaCoreNotFound(String(error.library), error);
  if (!('errno' in error && 'syscall' in error)) return error;
  const text = error.message.replace(/^.*?: /, '');
  return new VerbsError(Number(error.errno), String(error.syscall), text);
}

/** The devices that libibverbs has a driver for. */
export function listDevices(): ReturnType<NativeVerbs['list']> {
  try {
    return call((verbs) => verbs.list());
  } catch (error) {
    // The kernel's RDMA modules are not loaded.
    if (error instanceof VerbsError && error.errno === constants.errno.ENOSYS) return [];
    throw error;
  }
}

export const queryDevice = (name: string): NativeDevice => call((verbs) => verbs.query(name));
export const queryEfa = (name: string): NativeEfa => call((verbs) => verbs.queryEfa(name));
