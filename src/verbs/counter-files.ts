// The counters of a device, where the kernel has them in sysfs.
import { join } from 'node:path';
import { namesIn, readText } from './sysfs.js';

/** Counters of a device's own, and of one of its ports. */
export const SCOPES = ['device', 'port'] as const;
export type Scope = (typeof SCOPES)[number];
export type ScopedCounters = Record<Scope, Record<string, bigint>>;

/** What a device's folder says. */
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

// <namespace>/<pid>.<16 digits>/sysfs of a process or <namespace>/node-<n> of a host, and what is
// below: native/softefa/sysfs.h
const SOFTEFA =
  /\/softefa-\d+\.[^/]+\/(\d+\.[\da-f]{16}\/sysfs|node-\d+)\/class\/infiniband\/[^/]+$/;

/** Whether a device's folder is a software device's. */
export const isSoftefa = (device: string): boolean => SOFTEFA.test(device);
