// The counters of a device, where the kernel has them in sysfs.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

// <namespace>/<pid>.<start>/sysfs/class/infiniband/<device>: native/softefa/namespace.h
const MEMBER = /^(.*\/softefa-\d+-[^/]+)\/\d+\.\d+(\/sysfs\/class\/infiniband\/[^/]+)$/;

/** Whether a device's folder is a software device's, in which a process counts for itself. */
export const isSoftefa = (device: string): boolean => MEMBER.test(device);

/**
 * The folders whose counters together are those of a device: its own, or with softefa, where each
 * process counts for itself, one of every process that has the device.
 */
export function counterFolders(device: string): string[] {
  const [, namespace, below] = MEMBER.exec(device) ?? [];
  if (namespace === undefined || below === undefined) return existsSync(device) ? [device] : [];
  const own = gidOf(device);
  return namesIn(namespace)
    .filter((name) => /^\d+\.\d+$/.test(name))
    .map((name) => join(namespace, name, below))
    .filter((folder) => folder === device || gidOf(folder) === own);
}

// Another node's device of the same name has another.
const gidOf = (device: string) => readText(device, 'ports/1/gids/0') ?? dirname(device);
