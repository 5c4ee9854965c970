import { statfsSync } from 'node:fs';
import { cpus } from 'node:os';
import type { Device } from '../../verbs/device-types.js';
import { type Absence, counters, devices, whyNoDevices } from '../../verbs/index.js';
import type { Rdma } from '../shared/rdma.js';
import { Files } from './files.js';
import { type Library, loadLibrarySafely } from './library.js';
import { runInProcess } from './subprocess.js';

/** A file system, in bytes. */
export interface Space {
  readonly size: number;
  readonly free: number;
}

/** Everything that checks read, from a real machine or from one that a test defines. */
export interface Machine {
  readonly files: Files;
  /** The environment before libfabric or this package changed it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly library: Library;
  /** RDMA devices of any vendor. */
  readonly devices: readonly Device[];
  /** Why there are no devices. */
  readonly absence: Absence | null;
  /** The kind of EFA that the programs of this machine can use. */
  readonly efa: 'hardware' | 'software' | 'none';
  /** Counters of devices, by the device's name. */
  readonly counters: Readonly<Record<string, Readonly<Record<string, bigint>>>>;
  /** /dev/shm; null if there is none. */
  readonly sharedMemory: Space | null;
  /** Cores of the machine. */
  readonly cores: number;
  /** The trial of an endpoint on each domain of efa. */
  readonly trials: readonly Trial[];
}

/** This machine. Loads libfabric, and tries its endpoints. */
export async function thisMachine(env: NodeJS.ProcessEnv): Promise<Machine> {
  const library = await loadLibrarySafely();
  const files = new Files();
  const absence = whyNoDevices();
  const all = absence?.code === 'ERR_RDMA_CORE_NOT_FOUND' ? [] : devices();
  const trials = await tryEndpoints(library.loaded?.efaDomains ?? []);
  return {
    files,
    env,
    library,
    devices: all,
    absence,
    efa: kindOf(all, files),
    counters: Object.fromEntries(all.map(({ name }) => [name, countersOf(name)])),
    sharedMemory: spaceOf('/dev/shm'),
    cores: cpus().length,
    trials,
  };
}

export const AMAZON = 0x1d0f;

/** Whether a device is an EFA, usable or not. */
export const isEfa = ({ vendorId }: Device): boolean => vendorId === AMAZON;

/** PCI addresses of the EFAs of a machine, whether or not a driver has them. */
export function efasOnPci(files: Files): string[] {
  const folder = '/sys/bus/pci/devices';
  return files.names(folder).filter((address) => {
    const says = (file: string) => files.text(`${folder}/${address}/${file}`) ?? '';
    return says('vendor') === '0x1d0f' && says('device').startsWith('0xefa');
  });
}

/** The kind of EFA of the machine. A device on PCI counts even if no driver is bound to it. */
export function kindOf(all: readonly Device[], files: Files): Machine['efa'] {
  const efas = all.filter(isEfa);
  if (efas.some(({ emulated }) => emulated)) return 'software';
  return efas.length > 0 || efasOnPci(files).length > 0 ? 'hardware' : 'none';
}

function countersOf(device: string): Readonly<Record<string, bigint>> {
  try {
    return counters(device);
  } catch {
    return {}; // the device has no port
  }
}

function spaceOf(path: string): Space | null {
  try {
    const { bsize, blocks, bavail } = statfsSync(path);
    return { size: blocks * bsize, free: bavail * bsize };
  } catch {
    return null;
  }
}

/** The result of a trial. */
export interface TrialResult {
  /** Null if it worked. */
  readonly failure: string | null;
  /** The usual remedy of the failure, if it is known. */
  readonly hint?: string;
  /** Whether the device carries out its reads and writes; null if unknown. */
  readonly rdma: Rdma | null;
}

/** The result of opening an endpoint on a domain and sending itself a message. */
export interface Trial extends TrialResult {
  readonly domain: string;
}

// Otherwise the provider would use shm within a host, which needs no device.
const THROUGH_DEVICE = { FI_EFA_ENABLE_SHM_TRANSFER: '0' };

/** Tries one domain after another. */
export async function tryEndpoints(domains: readonly string[]): Promise<Trial[]> {
  const trials: Trial[] = [];
  for (const domain of domains) {
    const { failure, output } = await runInProcess('trial-program.js', [domain], THROUGH_DEVICE);
    const ended: TrialResult = failure === null ? JSON.parse(output) : { failure, rdma: null };
    trials.push({ domain, ...ended });
  }
  return trials;
}
