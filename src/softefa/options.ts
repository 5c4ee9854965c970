import { checkInteger, checkOptions, checkString, oneOf } from '../checks.js';
import { invalidArgType, invalidArgValue } from '../errors.js';

/** What a softefa device can do: `efadv_query_device`. */
export type SoftefaCapability =
  | 'RDMA_READ'
  | 'RNR_RETRY'
  | 'CQ_WITH_SGID'
  | 'RDMA_WRITE'
  | 'UNSOLICITED_WRITE_RECV'
  | 'CQ_WITH_EXT_MEM_DMABUF'
  | 'COMP_CNTR';

/** How the software EFA devices of a process are made. */
export interface SoftefaOptions {
  /** Devices; 1 when left out. */
  readonly nics?: number;
  /** Which host of the namespace this process plays, 0 when left out: others are remote to it. */
  readonly node?: number;
  /** Processes of one user meet where they give the same name; `'default'` when left out. */
  readonly namespace?: string;
  /** Where shared files live; /dev/shm when left out. */
  readonly directory?: string;
  /** Whether the counters of the devices outlive the last process; true when left out. */
  readonly keep?: boolean;
  /** Moves data after the post has returned, in pieces of random order: finds early reuse. */
  readonly asynchronous?: boolean;
  /**
   * Queues that the efa provider fills and reads by itself, as it does on hardware: libfabric 2.3 and
   * later, built with rdma-core 59 and later. A thread of the device watches them, which costs latency.
   */
  readonly direct?: boolean;
  /** Of every random choice; 1 when left out. */
  readonly seed?: number;
  /** Of those that the part may have; the ones its devices usually have when left out. */
  readonly capabilities?: readonly SoftefaCapability[];
  /** vendor_part_id, which says what the device can do: docs/softefa.md. 0xefa2 when left out. */
  readonly partId?: number;
  /** What ibv_is_fork_initialized(3) says; `'unneeded'` when left out. */
  readonly forkStatus?: 'disabled' | 'enabled' | 'unneeded';
  /** Memory regions of a process; 65,536 when left out. */
  readonly maxMr?: number;
  /** Bytes a process may register, in place of RLIMIT_MEMLOCK. */
  readonly memlock?: number | 'unlimited';
  /** Milliseconds until a peer that does not answer is given up; 5000 when left out. */
  readonly timeout?: number;
  /** Copies through shared memory, as where process_vm_readv(2) is forbidden. */
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
};
const FORK_STATUSES = ['disabled', 'enabled', 'unneeded'] as const;

/** The mask of a list of capabilities. */
export function capabilityMask(name: string, capabilities: unknown): number {
  if (!Array.isArray(capabilities)) {
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
  timeout: ['SOFTEFA_TIMEOUT_MS', integer(1, 3_600_000)],
  bounce: ['SOFTEFA_COPY', (name, value) => (flag(name, value) === '1' ? 'bounce' : '')],
};

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

/** The variables that tell softefa of these options. */
export function softefaVariables(options?: SoftefaOptions): Record<string, string> {
  const checked = checkOptions('options', options);
  const variables: Record<string, string> = {};
  for (const [name, [variable, write]] of Object.entries(VARIABLES)) {
    const value = checked[name as keyof SoftefaOptions];
    if (value !== undefined) variables[variable] = write(`options.${name}`, value as never);
  }
  return variables;
}
