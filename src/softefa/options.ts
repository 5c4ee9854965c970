import {
  checkInteger,
  checkMilliseconds,
  checkOptions,
  checkString,
  oneOf,
} from '../base/checks.js';
import { invalidArgType, invalidArgValue } from '../base/errors.js';
import { isArray } from '../base/objects.js';

/** The capabilities of a softefa device: `efadv_query_device`. */
export type SoftefaCapability =
  | 'RDMA_READ'
  | 'RNR_RETRY'
  | 'CQ_WITH_SGID'
  | 'RDMA_WRITE'
  | 'UNSOLICITED_WRITE_RECV'
  | 'CQ_WITH_EXT_MEM_DMABUF'
  | 'COMP_CNTR'
  | 'SQ_64_BIT_REQ_ID'
  | 'DATA_POLLING_128';

/** The software EFA devices of a process. */
export interface SoftefaOptions {
  /** The number of devices. If omitted, 1. */
  readonly nics?: number;
  /**
   * The host of the namespace that this process represents. If omitted, 0. All other hosts are
   * remote.
   */
  readonly node?: number;
  /**
   * The namespace. Processes of one user with the same namespace reach each other. If omitted,
   * `'default'`.
   */
  readonly namespace?: string;
  /** The folder of the shared files. If omitted, /dev/shm. */
  readonly directory?: string;
  /**
   * Whether the counters of the devices remain after the last process has exited. If omitted, true.
   */
  readonly keep?: boolean;
  /**
   * Moves data after the post has returned, in pieces and in random order. This finds buffers that
   * are reused too early.
   */
  readonly asynchronous?: boolean;
  /**
   * Lets the efa provider fill and read the queues itself, as it does on hardware. Requires
   * libfabric 2.3 or later, built with rdma-core 59 or later. A thread of the device polls the
   * queues, which adds latency.
   */
  readonly direct?: boolean;
  /** The seed of every random choice. If omitted, 1. */
  readonly seed?: number;
  /**
   * A subset of the capabilities that the device id supports. If omitted, those that such devices
   * usually have.
   */
  readonly capabilities?: readonly SoftefaCapability[];
  /** The vendor_part_id, which determines the capabilities: docs/softefa.md. If omitted, 0xefa2. */
  readonly partId?: number;
  /** The result of ibv_is_fork_initialized(3). If omitted, `'unneeded'`. */
  readonly forkStatus?: 'disabled' | 'enabled' | 'unneeded';
  /** The most memory regions of a process. If omitted, 65,536. */
  readonly maxMr?: number;
  /** The bytes that a process may register, instead of RLIMIT_MEMLOCK. */
  readonly memlock?: number | 'unlimited';
  /** Milliseconds until operations to a peer that does not answer fail. If omitted, 5000. */
  readonly timeout?: number;
  /**
   * Bytes per second that each device carries in each direction. If omitted, or 0, as many as the
   * machine copies.
   */
  readonly rate?: number;
  /** The NUMA nodes of the devices: device i has the one at i modulo their number. If omitted, none. */
  readonly numaNodes?: readonly number[];
  /** Copies through shared memory, as softefa does if process_vm_readv(2) is forbidden. */
  readonly bounce?: boolean;
}

const CAPABILITIES: Readonly<Record<SoftefaCapability, number>> = {
  RDMA_READ: 1,
  RNR_RETRY: 2,
  CQ_WITH_SGID: 4,
  RDMA_WRITE: 8,
  UNSOLICITED_WRITE_RECV: 16,
  CQ_WITH_EXT_MEM_DMABUF: 32,
  COMP_CNTR: 64,
  SQ_64_BIT_REQ_ID: 2 ** 29,
  DATA_POLLING_128: 2 ** 30,
};
const FORK_STATUSES = ['disabled', 'enabled', 'unneeded'] as const;

/** The mask of a list of capabilities. */
export function capabilityMask(name: string, capabilities: unknown): number {
  if (!isArray(capabilities)) {
    throw invalidArgType(name, 'an array of names', capabilities);
  }
  const names = Object.keys(CAPABILITIES) as SoftefaCapability[];
  return capabilities.reduce<number>(
    (mask, capability) => mask | CAPABILITIES[oneOf(name, capability, names)],
    0,
  );
}

type Writer = (name: string, value: never) => string;

const text: Writer = (name, value) => checkString(name, value);
const flag: Writer = (name, value) => {
  if (typeof value !== 'boolean') throw invalidArgType(name, 'a boolean', value);
  return value ? '1' : '0';
};
const integer =
  (least: number, most: number): Writer =>
  (name, value) =>
    String(checkInteger(name, value, least, most));

const numbers =
  (least: number, most: number): Writer =>
  (name, value: unknown) => {
    if (!isArray(value) || value.length === 0) {
      throw invalidArgType(name, 'an array of numbers', value);
    }
    return value.map((each, i) => checkInteger(`${name}[${i}]`, each, least, most)).join();
  };

const VARIABLES: { readonly [Name in keyof SoftefaOptions]-?: [variable: string, Writer] } = {
  nics: ['SOFTEFA_NICS', integer(1, 64)],
  node: ['SOFTEFA_NODE', integer(0, 65_535)],
  namespace: ['SOFTEFA_NAMESPACE', checkNamespace],
  directory: ['SOFTEFA_DIRECTORY', text],
  keep: ['SOFTEFA_KEEP', flag],
  asynchronous: ['SOFTEFA_ASYNC', flag],
  direct: ['SOFTEFA_DIRECT', flag],
  seed: ['SOFTEFA_SEED', integer(0, Number.MAX_SAFE_INTEGER)],
  capabilities: ['SOFTEFA_CAPS', (name, value) => String(capabilityMask(name, value))],
  partId: ['SOFTEFA_PART_ID', integer(0xefa0, 0xefaf)],
  forkStatus: [
    'SOFTEFA_FORK_STATUS',
    (name, value) => String(FORK_STATUSES.indexOf(oneOf(name, value, FORK_STATUSES))),
  ],
  maxMr: ['SOFTEFA_MAX_MR', integer(1, 65_536)],
  memlock: [
    'SOFTEFA_MEMLOCK',
    (name, value) =>
      value === 'unlimited' ? value : String(checkInteger(name, value, 0, Number.MAX_SAFE_INTEGER)),
  ],
  timeout: [
    'SOFTEFA_TIMEOUT_MS',
    (name, value) => String(Math.ceil(checkMilliseconds(name, value, 1, 3_600_000))),
  ],
  rate: ['SOFTEFA_RATE', integer(0, Number.MAX_SAFE_INTEGER)],
  numaNodes: ['SOFTEFA_NUMA_NODES', numbers(0, 1023)],
  bounce: ['SOFTEFA_COPY', (name, value) => (flag(name, value) === '1' ? 'bounce' : '')],
};

const NAMES = Object.keys(VARIABLES) as (keyof SoftefaOptions)[];

function checkNamespace(name: string, value: never): string {
  const given = checkString(name, value);
  if (!/^[\w-]{1,40}$/.test(given)) {
    throw invalidArgValue(
      name,
      'must be 1 to 40 letters, digits, - or _: it is part of a file name',
    );
  }
  return given;
}

/** The environment variables for these options. */
export function softefaVariables(options?: SoftefaOptions): Record<string, string> {
  const checked = checkOptions('options', options, NAMES);
  const variables: Record<string, string> = {};
  for (const [name, [variable, write]] of Object.entries(VARIABLES)) {
    const value = checked[name as keyof SoftefaOptions];
    if (value !== undefined) variables[variable] = write(`options.${name}`, value as never);
  }
  return variables;
}
