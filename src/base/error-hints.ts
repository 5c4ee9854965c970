import { constants } from 'node:os';
import { errnoByCode } from './error-codes.js';

// The usual causes of failed libfabric calls that return only an error number, by provider.

interface CallHint {
  readonly call: RegExp;
  readonly errno: number;
  /** Whether it explains a failure about which the provider has said something. */
  readonly withText?: boolean;
  readonly hint: string;
}

const { ENOSPC, EROFS, EFBIG } = constants.errno;
const OPENING = /^fi_(fabric|domain|endpoint|enable|cq_open|cntr_open|av_open|mr_reg|mr_regattr)$/;
const SHARED_MEMORY = /^fi_(domain|endpoint|enable|av_open)$/; // the calls that make files in /dev/shm

/** What to do when an address vector of shm has no room. */
const FULL_VECTOR =
  'an address vector of shm has room for 256 peers over its life, also for those that were removed: close the engine or the endpoint and open another, or use tcp where processes come and go';

const ANY: readonly CallHint[] = [
  {
    call: /./,
    errno: errnoByCode.FI_EMFILE,
    hint: 'the process has as many open files as it may: raise the limit (ulimit -n), or close engines, endpoints and domains that are not used',
  },
  {
    call: SHARED_MEMORY,
    errno: ENOSPC,
    hint: '/dev/shm is full (df /dev/shm): enlarge it, as docker run --shm-size does, or remove the files of processes that were killed',
  },
  {
    call: SHARED_MEMORY,
    errno: EROFS,
    hint: '/dev/shm is mounted read-only, and processes of a host share memory in it: mount it with write access, or use another provider',
  },
  {
    call: SHARED_MEMORY,
    errno: EFBIG,
    hint: 'the limit of the size of files is too low for shared memory: raise it (ulimit -f)',
  },
  {
    call: OPENING,
    errno: errnoByCode.FI_ENOMEM,
    hint: 'the memory of this process or its control group is exhausted, or its limit of locked memory (ulimit -l)',
  },
  {
    call: /^fi_mr_regattr$/,
    errno: errnoByCode.FI_ENOSYS,
    hint: 'this libfabric was built without support for the device, or did not find one when it was loaded; a dmabuf needs no such support',
  },
];

const SHM: readonly CallHint[] = [
  { call: /^fi_av_insert$/, errno: errnoByCode.FI_EADDRNOTAVAIL, hint: FULL_VECTOR },
];

const LOCKED =
  "raise the limit of locked memory (ulimit -l): the provider's own buffers need 111 MB per endpoint; or enlarge /dev/shm, if it is full (df /dev/shm)";

const EFA: readonly CallHint[] = [
  {
    call: /^fi_av_insert$/,
    errno: errnoByCode.FI_EADDRNOTAVAIL,
    hint: 'libfabric 1.17 has room for 128 addresses of its own host over the life of an address vector: open another engine or endpoint, or set FI_EFA_SHM_AV_SIZE',
  },
  {
    call: /^fi_mr_regattr$/,
    errno: errnoByCode.FI_EINVAL,
    hint: 'the memory lies outside of the dmabuf, or the file descriptor is not of a dmabuf',
  },
  {
    call: /^fi_mr_regattr$/,
    errno: errnoByCode.FI_EOPNOTSUPP,
    hint: "the kernel's driver does not support dmabufs, or the device does not support these rights",
  },
  {
    call: /^fi_mr_reg$/,
    errno: errnoByCode.FI_ENOMEM,
    hint: 'the limit of locked memory (ulimit -l), or the pages that the device can register, are exhausted: close regions, or use huge pages (allocate() with hugePages)',
  },
  {
    call: /^fi_mr_reg$/,
    errno: errnoByCode.FI_EOPNOTSUPP,
    hint: "the device does not support RDMA with these rights (npx libfabric devices shows the device's capabilities)",
  },
  {
    call: /^fi_mr_reg$/,
    errno: errnoByCode.FI_EFAULT,
    hint: 'memory that is mapped read-only can be registered for FI_SEND, FI_WRITE and FI_REMOTE_READ only',
  },
  {
    call: /^fi_(domain|endpoint|enable|cq_open)$/,
    errno: errnoByCode.FI_ENOMEM,
    hint: LOCKED,
  },
  {
    call: /^fi_eq_readerr$/,
    errno: errnoByCode.FI_ENOMEM,
    withText: true,
    hint: LOCKED,
  },
];

const BY_PROVIDER: Readonly<Record<string, readonly CallHint[]>> = { efa: EFA, shm: SHM };

/** Whether an address was refused because the address vector has no room for another one, ever. */
export const isOfFullVector = ({ hint }: { readonly hint?: string | undefined }): boolean =>
  hint === FULL_VECTOR;

/** The usual remedy for a failed call. `text` is this package's own text about the failure. */
export function hintOfCall(
  provider: string,
  call: string,
  errno: number,
  text: string,
): string | undefined {
  const hints = [...(BY_PROVIDER[provider] ?? []), ...ANY];
  return hints.find(
    (each) => each.errno === errno && each.call.test(call) && (text === '' || each.withText),
  )?.hint;
}

/** The usual remedy if the shm provider below efa fails an operation between peers of a host. */
export function hintOfSharedMemory(errno: number): string {
  const without = 'disable shared memory: FI_EFA_ENABLE_SHM_TRANSFER=0';
  return errno === errnoByCode.FI_EPERM
    ? `the kernel forbids reading the memory of peers (kernel.yama.ptrace_scope=0 allows it), or ${without}`
    : without;
}

/** The usual causes if an operation times out, and none to its peer has succeeded before. */
export const SILENT_PEER =
  'no operation with this peer has succeeded yet: is it running, is this its present address, does it post receives and drive its endpoint, and do firewalls (on EC2 the security groups of both) let the endpoints reach each other?';
