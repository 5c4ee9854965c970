import { getSystemErrorMap } from 'node:util';

// fi_errno(3): the numbers of Linux below 256, and libfabric's own from 256.
const TABLE = [
  [1, 'FI_EPERM', 'Operation not permitted'],
  [2, 'FI_ENOENT', 'No such file or directory'],
  [4, 'FI_EINTR', 'Interrupted system call'],
  [5, 'FI_EIO', 'Input/output error'],
  [7, 'FI_E2BIG', 'Argument list too long'],
  [9, 'FI_EBADF', 'Bad file descriptor'],
  [11, 'FI_EAGAIN', 'Resource temporarily unavailable'],
  [12, 'FI_ENOMEM', 'Cannot allocate memory'],
  [13, 'FI_EACCES', 'Permission denied'],
  [14, 'FI_EFAULT', 'Bad address'],
  [16, 'FI_EBUSY', 'Device or resource busy'],
  [19, 'FI_ENODEV', 'No such device'],
  [22, 'FI_EINVAL', 'Invalid argument'],
  [24, 'FI_EMFILE', 'Too many open files'],
  [28, 'FI_ENOSPC', 'No space left on device'],
  [38, 'FI_ENOSYS', 'Function not implemented'],
  [42, 'FI_ENOMSG', 'No message of desired type'],
  [61, 'FI_ENODATA', 'No data available'],
  [71, 'FI_EPROTO', 'Protocol error'],
  [75, 'FI_EOVERFLOW', 'Value too large for defined data type'],
  [90, 'FI_EMSGSIZE', 'Message too long'],
  [92, 'FI_ENOPROTOOPT', 'Protocol not available'],
  [95, 'FI_EOPNOTSUPP', 'Operation not supported'],
  [98, 'FI_EADDRINUSE', 'Address already in use'],
  [99, 'FI_EADDRNOTAVAIL', 'Cannot assign requested address'],
  [100, 'FI_ENETDOWN', 'Network is down'],
  [101, 'FI_ENETUNREACH', 'Network is unreachable'],
  [103, 'FI_ECONNABORTED', 'Software caused connection abort'],
  [104, 'FI_ECONNRESET', 'Connection reset by peer'],
  [105, 'FI_ENOBUFS', 'No buffer space available'],
  [106, 'FI_EISCONN', 'Transport endpoint is already connected'],
  [107, 'FI_ENOTCONN', 'Transport endpoint is not connected'],
  [108, 'FI_ESHUTDOWN', 'Cannot send after transport endpoint shutdown'],
  [110, 'FI_ETIMEDOUT', 'Connection timed out'],
  [111, 'FI_ECONNREFUSED', 'Connection refused'],
  [112, 'FI_EHOSTDOWN', 'Host is down'],
  [113, 'FI_EHOSTUNREACH', 'No route to host'],
  [114, 'FI_EALREADY', 'Operation already in progress'],
  [115, 'FI_EINPROGRESS', 'Operation now in progress'],
  [121, 'FI_EREMOTEIO', 'Remote I/O error'],
  [125, 'FI_ECANCELED', 'Operation canceled'],
  [129, 'FI_EKEYREJECTED', 'Key was rejected by service'],
  [256, 'FI_EOTHER', 'Unspecified error'],
  [257, 'FI_ETOOSMALL', 'Provided buffer is too small'],
  [258, 'FI_EOPBADSTATE', 'Operation not permitted in current state'],
  [259, 'FI_EAVAIL', 'Error available'],
  [260, 'FI_EBADFLAGS', 'Flags not supported'],
  [261, 'FI_ENOEQ', 'Missing or unavailable event queue'],
  [262, 'FI_EDOMAIN', 'Invalid resource domain'],
  [263, 'FI_ENOCQ', 'Missing or unavailable completion queue'],
  [264, 'FI_ECRC', 'CRC error'],
  [265, 'FI_ETRUNC', 'Truncation error'],
  [266, 'FI_ENOKEY', 'Required key not available'],
  [267, 'FI_ENOAV', 'Missing or unavailable address vector'],
  [268, 'FI_EOVERRUN', 'Queue has been overrun'],
  [269, 'FI_ENORX', 'Receiver not ready, no receive buffers available'],
  [270, 'FI_ENOMR', 'Memory registration limit exceeded'],
  [271, 'FI_EFIREWALLADDR', 'Host unreachable, it is behind a firewall'],
] as const;

/** The name of an error of fi_errno(3), such as `'FI_ETRUNC'`. */
export type FabricErrorCode = (typeof TABLE)[number][1];

const byErrno = new Map<number, { code: string; text: string }>(
  TABLE.map(([errno, code, text]) => [errno, { code, text }]),
);

/**
 * The positive number of every error name of fi_errno(3), up to libfabric 2.6:
 * `errnoByCode.FI_ETRUNC === 265`.
 */
export const errnoByCode: Readonly<Record<FabricErrorCode, number>> = Object.freeze(
  Object.fromEntries(TABLE.map(([errno, code]) => [code, errno])) as Record<
    FabricErrorCode,
    number
  >,
);

/**
 * The name and text of an error number. A number that libfabric does not name has the system's name
 * and text.
 */
export function describeErrno(errno: number): { code: string; text: string } {
  const known = byErrno.get(errno);
  if (known) return known;
  const [code, text] = getSystemErrorMap().get(-errno) ?? [`FI_ERRNO_${errno}`, 'Unknown error'];
  return { code, text };
}
