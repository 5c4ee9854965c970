// The resources of this process at one time.
import { readdirSync, readFileSync } from 'node:fs';
import { dumpState } from 'libfabric';
import { sharedFilesOf } from '../ends/residue.mjs';

const MIB = 2 ** 20;

/**
 * By resource: the growth per hour that fails the soak if the whole confidence interval is above it. The allocators of
 * C and of V8 keep freed memory for some minutes, so a few MiB per hour are no leak; one more descriptor is.
 */
export const LIMITS = {
  rss: 60,
  heap: 30,
  external: 30,
  descriptors: 20,
  threads: 20,
  registrations: 20,
  shared: 20,
  parked: 20,
};

export const UNITS = { rss: 'MiB', heap: 'MiB', external: 'MiB' };

export function sample() {
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  const { domains, parked } = dumpState();
  return {
    rss: rss / MIB,
    heap: heapUsed / MIB,
    external: external / MIB,
    descriptors: readdirSync('/proc/self/fd').length,
    threads: Number(readFileSync('/proc/self/status', 'utf8').match(/Threads:\s*(\d+)/)[1]),
    registrations: domains.reduce((sum, { engine }) => sum + (engine?.memory.regions ?? 0), 0),
    shared: sharedFilesOf(process.pid).length,
    parked: parked.length,
  };
}
