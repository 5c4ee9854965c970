import { setTimeout as sleep } from 'node:timers/promises';
import type { AnyInfo } from '../../../info-types.js';
import { isSoftefa, readCounters } from '../../../verbs/counter-files.js';
import { type Found, findFolders } from '../../../verbs/find.js';
import { queryDevice } from '../../../verbs/native.js';
import { readText } from '../../../verbs/sysfs.js';

// libfabric's providers use the first.
const PORT = 1;

/**
 * What the counters of RDMA devices rise by, in numbers that JSON can have. Those of a software device
 * are of this process, those of hardware of all.
 */
export class DeviceCounters {
  readonly #devices: readonly Found[];
  #last: ReadonlyMap<string, bigint> = new Map();

  private constructor(devices: readonly Found[]) {
    this.#devices = devices;
  }

  /** Counts from now on; undefined where none of the entries is of a device that has counters. */
  static async open(entries: readonly AnyInfo[]): Promise<DeviceCounters | undefined> {
    const folders = findFolders();
    const devices = folders.filter(
      (found) => entries.some((entry) => isOf(found, entry)) && hasCounters(found),
    );
    if (devices.length === 0) return undefined;
    const counters = new DeviceCounters(devices);
    await counters.grown();
    return counters;
  }

  /** What has risen since the last call, by name: the sum of all devices. */
  async grown(): Promise<Record<string, number>> {
    await sleep(Math.max(...this.#devices.map(refresh)));
    const before = this.#last;
    const now = new Map<string, bigint>();
    for (const { path } of this.#devices) {
      for (const [name, value] of Object.entries(readCounters(path, PORT).port)) {
        now.set(name, (now.get(name) ?? 0n) + value);
      }
    }
    this.#last = now;
    const grown = [...now].map(
      ([name, value]) => [name, value - (before.get(name) ?? 0n)] as const,
    );
    return Object.fromEntries(
      grown.filter(([, delta]) => delta > 0n).map(([name, delta]) => [name, Number(delta)]),
    );
  }
}

// efa's domains have names of their own: rdmap0s6-rdm.
const isOf = ({ name }: Found, { nic, domainAttr }: AnyInfo) =>
  nic?.deviceAttr?.name === name || domainAttr.name?.replace(/-(rdm|dgrm)$/, '') === name;

const hasCounters = ({ path }: Found) => Object.keys(readCounters(path, PORT).port).length > 0;

/** Sees to it that what is read in so many milliseconds is of now. */
function refresh({ name, path }: Found): number {
  if (isSoftefa(path)) queryDevice(name); // it writes its counters when it is asked
  // How long the kernel answers with what it has read before.
  const lifespan = Number(readText(path, 'ports', String(PORT), 'hw_counters/lifespan'));
  return Number.isFinite(lifespan) ? lifespan : 0;
}
