// The counters of a device, from sysfs.
import { join } from 'node:path';
import { namesIn, readText } from '../base/sysfs.js';

/** The counters of a device, and of one of its ports. */
export const SCOPES = ['device', 'port'] as const;
export type Scope = (typeof SCOPES)[number];
export type ScopedCounters = Record<Scope, Record<string, bigint>>;

/** Reads the counters below a device's folder. */
export function readCounters(device: string, port: number): ScopedCounters {
  const folder = join(device, 'ports', String(port));
  return {
    device: readFolder(join(device, 'hw_counters')),
    port: { ...readFolder(join(folder, 'counters')), ...readFolder(join(folder, 'hw_counters')) },
  };
}

function readFolder(folder: string): Record<string, bigint> {
  const counters: Record<string, bigint> = {};
  for (const name of namesIn(folder).sort()) {
    if (name === 'lifespan') continue; // how long the kernel caches the others
    const text = readText(folder, name);
    if (text !== null && /^\d+$/.test(text)) counters[name] = BigInt(text);
  }
  return counters;
}

// The folder of a software device: <namespace>/<pid>.<16 digits>/sysfs of a process or
// <namespace>/node-<n> of a host, and the path below it. See native/softefa/sysfs.h.
const SOFTEFA =
  /\/softefa-\d+\.[^/]+\/(\d+\.[\da-f]{16}\/sysfs|node-\d+)\/class\/infiniband\/[^/]+$/;

/** Whether this is the folder of a software device. */
export const isSoftefa = (device: string): boolean => SOFTEFA.test(device);
