import { errnoByCode } from './error-codes.js';

// The usual causes of failed libfabric calls that return only an error number, by provider.

interface CallHint {
  readonly call: RegExp;
  readonly errno: number;
  readonly hint: string;
}

const ANY: readonly CallHint[] = [
  {
    call: /^fi_mr_regattr$/,
    errno: errnoByCode.FI_ENOSYS,
    hint: 'this libfabric was built without support for the device, or did not find one when it was loaded; a dmabuf needs no such support',
  },
];

const EFA: readonly CallHint[] = [
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
    hint: "raise the limit of locked memory (ulimit -l): the provider's own buffers need 111 MB per endpoint; or enlarge /dev/shm, if it is full (df /dev/shm)",
  },
  {
    // ibv_post_send(3) and ibv_post_recv(3) return this on a queue pair in its error state.
    call: /^fi_\w+msg$/,
    errno: errnoByCode.FI_EINVAL,
    hint: "the endpoint's queue pair has failed, for example because its completion queue overran ({ size }): open another endpoint",
  },
];

const BY_PROVIDER: Readonly<Record<string, readonly CallHint[]>> = { efa: EFA };

/** The usual remedy for a failed call. `text` is this package's own text about the failure. */
export function hintOfCall(
  provider: string,
  call: string,
  errno: number,
  text: string,
): string | undefined {
  if (text !== '') return undefined;
  const hints = [...(BY_PROVIDER[provider] ?? []), ...ANY];
  return hints.find((each) => each.errno === errno && each.call.test(call))?.hint;
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
