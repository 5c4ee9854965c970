import { setTimeout as sleep } from 'node:timers/promises';
import { readText } from '../../../base/sysfs.js';
import type { AnyInfo } from '../../../contract/info-types.js';
import { isSoftefa, readCounters } from '../../../verbs/counter-files.js';
import { type Found, findFolders } from '../../../verbs/find.js';
import { queryDevice } from '../../../verbs/native.js';

// libfabric's providers use the first port.
const PORT = 1;

/**
 * The increase of RDMA device counters, in numbers that JSON can represent. A software device
 * counts for this process, a hardware device for all processes.
 */
export class DeviceCounters {
  readonly #devices: readonly Found[];
  #last: ReadonlyMap<string, bigint> = new Map();

  private constructor(devices: readonly Found[]) {
    this.#devices = devices;
  }

  /** Starts to count. Undefined if no entry belongs to a device that has counters. */
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

  /** The increase of each counter since the last call, by name, summed over all devices. */
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

// efa's domains add to the device name: rdmap0s6-rdm.
const isOf = ({ name }: Found, { nic, domainAttr }: AnyInfo) =>
  nic?.deviceAttr?.name === name || domainAttr.name?.replace(/-(rdm|dgrm)$/, '') === name;

const hasCounters = ({ path }: Found) => Object.keys(readCounters(path, PORT).port).length > 0;

/** Makes the counters refresh. A read after the returned number of milliseconds is up to date. */
function refresh({ name, path }: Found): number {
  if (isSoftefa(path)) queryDevice(name); // a query makes it write its counters
  // How long the kernel answers from its cache.
  const lifespan = Number(readText(path, 'ports', String(PORT), 'hw_counters/lifespan'));
  return Number.isFinite(lifespan) ? lifespan : 0;
}
