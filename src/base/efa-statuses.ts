// The provider error numbers of the efa provider, libfabric 1.17 to 2.7. Numbers below 4096 are the
// device's status of a work request; the others are the provider's own.

/** The meaning of an error number of the efa provider. */
export interface EfaStatus {
  /** The provider's number: `error.provErrno`. */
  readonly number: number;
  /** Its name in the requested version of the provider: `'FI_EFA_ERR_PKT_POST'`. */
  readonly name: string;
  readonly text: string;
  /** Whether the cause may be temporary, so that a retry may succeed. */
  readonly retryable: boolean;
  /** The known cause and a remedy. */
  readonly hint?: string;
}

interface Row {
  readonly suffix: string;
  readonly text: string;
  readonly retryable?: true;
  readonly hint?: string;
  /** The name and hint in releases before this one. A release is major * 100 + minor. */
  readonly before?: { readonly release: number; readonly suffix?: string; readonly hint?: string };
}

/** The number of a receive whose message the sender has aborted: libfabric 2.7. */
export const PEER_ABORTED = 4127;

const LOG = "set FI_LOG_LEVEL=warn and see the provider's log";
const ANOTHER = 'open another endpoint';
const VERSIONS = 'run the same version of libfabric on both sides';
const EXCHANGE = 'exchange addresses again, and av.insert() the new one';
const SILENT =
  "the peer's process is stopped or has ended, its host is down, or the network drops packets (npx libfabric stats)";
const SECURITY_GROUP =
  'both security groups must allow all traffic to and from the group itself, egress too: a rule for 0.0.0.0/0 does not match EFA';
const FAILED = `the queue pair has failed, for example because its completion queue overran ({ size }): ${ANOTHER}`;
const FULL =
  'a completion queue overran: make it large enough for all operations in flight ({ size })';

/**
 * Rows by number. Names are those of the headers efa_io_defs.h and efa_errno.h, without their
 * prefix.
 */
const ROWS: Readonly<Record<number, Row>> = {
  0: { suffix: 'OK', text: 'Success' },
  1: {
    suffix: 'FLUSHED',
    text: 'The queue pair ended before the operation completed',
    hint: FAILED,
  },
  2: {
    suffix: 'LOCAL_ERROR_QP_INTERNAL_ERROR',
    text: 'The queue pair failed',
    hint: ANOTHER,
  },
  3: {
    suffix: 'LOCAL_ERROR_UNSUPPORTED_OP',
    text: 'The device does not support this operation',
    hint: "use only the device's capabilities (npx libfabric devices)",
    before: { release: 122, suffix: 'LOCAL_ERROR_INVALID_OP_TYPE' },
  },
  4: {
    suffix: 'LOCAL_ERROR_INVALID_AH',
    text: 'The address handle of the peer is not valid',
    hint: 'the peer was removed from the address vector: insert it again',
  },
  5: {
    suffix: 'LOCAL_ERROR_INVALID_LKEY',
    text: 'The local memory is not registered for the operation',
    hint: 'its region is closed, or was registered without the right (FI_SEND, FI_RECV, FI_READ, FI_WRITE)',
  },
  6: {
    suffix: 'LOCAL_ERROR_BAD_LENGTH',
    text: 'The message is too long',
    hint: 'see epAttr.maxMsgSize, and FI_OPT_MAX_RMA_SIZE for RMA',
  },
  7: {
    suffix: 'REMOTE_ERROR_BAD_ADDRESS',
    text: 'The peer has no memory registered for the operation',
    hint: 'the peer has closed the region, has not granted the right (FI_REMOTE_READ, FI_REMOTE_WRITE), or has restarted: get a new descriptor of the region',
    before: {
      release: 122,
      hint: "the peer's interface is down, or for RMA: the peer has closed the region, has not granted the right (FI_REMOTE_READ, FI_REMOTE_WRITE), or has restarted: get a new descriptor of the region",
    },
  },
  8: {
    suffix: 'REMOTE_ERROR_ABORT',
    text: 'The peer reset the connection',
    retryable: true,
    hint: 'its endpoint may have been closed',
  },
  9: {
    suffix: 'REMOTE_ERROR_BAD_DEST_QPN',
    text: 'The peer has no such queue pair',
    hint: `the peer has closed its endpoint, has ended, or has restarted: ${EXCHANGE}`,
  },
  10: {
    suffix: 'REMOTE_ERROR_RNR',
    text: 'The receiver is not ready: it has no receive posted',
    retryable: true,
    hint: 'post more receives on the peer, or let the device retry longer (FI_OPT_EFA_RNR_RETRY, 7: unlimited)',
  },
  11: {
    suffix: 'REMOTE_ERROR_BAD_LENGTH',
    text: 'The receive buffer of the peer is too short',
    hint: 'post receives on the peer that are as long as the messages',
  },
  12: {
    suffix: 'REMOTE_ERROR_BAD_STATUS',
    text: 'The peer answered with an unexpected status',
    retryable: true,
    hint: LOG,
  },
  13: {
    suffix: 'LOCAL_ERROR_UNRESP_REMOTE',
    text: 'The peer no longer answers',
    retryable: true,
    hint: SILENT,
    // Before 2.0 this number also stood for today's 15.
    before: {
      release: 200,
      hint: `${SILENT}; or, if the peer has never answered: ${SECURITY_GROUP}`,
    },
  },
  14: {
    suffix: 'REMOTE_ERROR_UNKNOWN_PEER',
    text: 'The peer does not know this endpoint',
    hint: "the target of RMA must know the initiator: the target must av.insert() this endpoint's address",
  },
  15: {
    suffix: 'LOCAL_ERROR_UNREACH_REMOTE',
    text: 'The peer cannot be reached: it has never answered',
    hint: `${SECURITY_GROUP}; both sides must be in one subnet, or in subnets that EFA traffic may cross; or the peer has ended`,
  },
  18: {
    suffix: 'REMOTE_ERROR_FEATURE_MISMATCH',
    text: 'The peer does not support a feature that the operation uses',
    hint: `${VERSIONS}, with the same options, on devices of the same kind`,
  },
  4096: { suffix: 'OTHER', text: 'Unknown error', hint: LOG },
  4097: {
    suffix: 'DEPRECATED_PKT_TYPE',
    text: 'A packet of a deprecated type',
    hint: VERSIONS,
  },
  4098: { suffix: 'INVALID_PKT_TYPE', text: 'A packet of an invalid type', hint: VERSIONS },
  4099: { suffix: 'UNKNOWN_PKT_TYPE', text: 'A packet of an unknown type', hint: VERSIONS },
  4100: { suffix: 'PKT_POST', text: 'A packet could not be posted', hint: LOG },
  4101: { suffix: 'PKT_SEND', text: 'A packet could not be sent', hint: LOG },
  4102: { suffix: 'PKT_PROC_MSGRTM', text: 'A received message could not be processed', hint: LOG },
  4103: {
    suffix: 'PKT_PROC_TAGRTM',
    text: 'A received tagged message could not be processed',
    hint: LOG,
  },
  4104: {
    suffix: 'PKT_ALREADY_PROCESSED',
    text: 'A message has the number of an earlier one',
    hint: `the peer has restarted, or has removed this endpoint with av.remove(): ${EXCHANGE}`,
  },
  4105: {
    suffix: 'OOM',
    text: 'Out of memory',
    retryable: true,
    hint: 'post fewer operations at once, or give the process more memory',
  },
  4106: { suffix: 'MR_DEREG', text: 'Memory could not be deregistered', hint: LOG },
  4107: {
    suffix: 'RXE_COPY',
    text: 'A receive could not be copied',
    hint: LOG,
    before: { release: 119, suffix: 'RX_ENTRY_COPY' },
  },
  4108: {
    suffix: 'RXE_POOL_EXHAUSTED',
    text: 'No room for another receive',
    retryable: true,
    hint: 'post fewer receives at once, and read the messages that have arrived',
    before: { release: 119, suffix: 'RX_ENTRIES_EXHAUSTED' },
  },
  4109: {
    suffix: 'TXE_POOL_EXHAUSTED',
    text: 'No room for another send',
    retryable: true,
    hint: 'post fewer operations at once (txAttr.size)',
    before: { release: 119, suffix: 'TX_ENTRIES_EXHAUSTED' },
  },
  4110: {
    suffix: 'AV_INSERT',
    text: 'The sender of a message could not be inserted into the address vector',
    hint: 'the device may have no address handle left: av.remove() the peers that have ended',
  },
  4111: {
    suffix: 'RMA_ADDR',
    text: 'A peer accessed memory without permission',
    hint: 'the region is closed or was registered without the right: the peer must get a new descriptor',
  },
  4112: {
    suffix: 'INTERNAL_RX_BUF_POST',
    text: "The provider's receive buffers could not be posted",
    hint: `raise the limit of locked memory (ulimit -l) and ${ANOTHER}`,
  },
  4113: {
    suffix: 'PEER_HANDSHAKE',
    text: 'The handshake with the peer failed',
    retryable: true,
    hint: LOG,
  },
  4114: { suffix: 'WR_POST_SEND', text: 'A work request could not be posted', hint: LOG },
  4115: {
    suffix: 'RTM_MISMATCH',
    text: 'The size of an RMA operation differs from its announced size',
    hint: VERSIONS,
  },
  4116: { suffix: 'READ_POST', text: 'A read could not be posted', hint: LOG },
  4117: { suffix: 'RDMA_READ_POST', text: 'A read of the device could not be posted', hint: LOG },
  4118: {
    suffix: 'INVALID_DATATYPE',
    text: 'An atomic operation with an invalid datatype',
    hint: VERSIONS,
  },
  4119: { suffix: 'WRITE_SEND_COMP', text: 'No completion for a send', hint: FULL },
  4120: { suffix: 'WRITE_RECV_COMP', text: 'No completion for a receive', hint: FULL },
  4121: { suffix: 'DGRAM_CQ_READ', text: 'The queue of datagrams cannot be read', hint: FULL },
  4122: {
    suffix: 'SHM_INTERNAL_ERROR',
    text: 'Shared memory to a peer of this host failed',
    hint: 'disable it: FI_EFA_ENABLE_SHM_TRANSFER=0, or the option FI_OPT_SHARED_MEMORY_PERMITTED',
  },
  4123: {
    suffix: 'WRITE_SHM_CQ_ENTRY',
    text: 'No completion for an operation through shared memory',
    hint: FULL,
  },
  4124: {
    suffix: 'ESTABLISHED_RECV_UNRESP',
    text: 'The peer has answered before, but no longer does',
    retryable: true,
    hint: SILENT,
  },
  4125: {
    suffix: 'INVALID_PKT_TYPE_ZCPY_RX',
    text: 'A packet that zero-copy receives do not support',
    hint: `${VERSIONS}, or disable zero-copy receives: FI_EFA_USE_ZCPY_RX=0`,
  },
  4126: {
    suffix: 'UNESTABLISHED_RECV_UNRESP',
    text: 'The peer can be reached, but has never answered',
    hint: `the peer has ended, or has restarted: ${EXCHANGE}; or ${SECURITY_GROUP}`,
  },
  [PEER_ABORTED]: {
    suffix: 'PEER_ABORTED',
    text: 'The peer closed its region or endpoint during the transfer',
    hint: 'the peer cancelled the transfer: coordinate with it before a retry',
  },
};

const OWN = 4096;
// The prefix of the device's statuses in 1.17 to 1.20.1.
const FIRST_NAMES = { prefix: 'FI_EFA_', before: 121 };

/** The release of libfabric with the current names and meanings. */
const LATEST = { major: 2, minor: 7 };

/**
 * The meaning of a provider error number of the efa provider. Undefined if no release of the
 * provider has it.
 *
 * @param version of libfabric: names and meanings differ between releases.
 */
export function efaStatus(
  number: number,
  version: { readonly major: number; readonly minor: number } = LATEST,
): EfaStatus | undefined {
  const row = ROWS[number];
  if (row === undefined) return undefined;
  const release = version.major * 100 + version.minor;
  const before = row.before !== undefined && release < row.before.release ? row.before : undefined;
  const hint = before?.hint ?? row.hint;
  return {
    number,
    name: prefixOf(number, release) + (before?.suffix ?? row.suffix),
    text: row.text,
    retryable: row.retryable === true,
    ...(hint !== undefined && { hint }),
  };
}

function prefixOf(number: number, release: number): string {
  if (number >= OWN) return 'FI_EFA_ERR_';
  return release < FIRST_NAMES.before ? FIRST_NAMES.prefix : 'EFA_IO_COMP_STATUS_';
}

/** The numbers by all names of all releases, with and without prefixes. */
export function efaNumbers(): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const [key, { suffix, before }] of Object.entries(ROWS)) {
    const number = Number(key);
    for (const each of [suffix, before?.suffix]) {
      if (each === undefined) continue;
      for (const release of [0, LATEST.major * 100 + LATEST.minor]) {
        numbers.set(prefixOf(number, release) + each, number);
      }
      numbers.set(each, number);
    }
  }
  return numbers;
}
