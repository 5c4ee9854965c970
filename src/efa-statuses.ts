// What the efa provider reports as a provider error number, libfabric 1.17 to 2.7: below 4096 the
// device's status of a work request, from there on the provider's own.

/** What an error number of the efa provider means. */
export interface EfaStatus {
  /** The provider's number: `error.provErrno`. */
  readonly number: number;
  /** Its name in the provider of the version asked for: `'FI_EFA_ERR_PKT_POST'`. */
  readonly name: string;
  readonly text: string;
  /** Whether the cause may pass by itself, so that the operation is worth trying again. */
  readonly retryable: boolean;
  /** The known cause, and what helps. */
  readonly hint?: string;
}

interface Row {
  readonly suffix: string;
  readonly text: string;
  readonly retryable?: true;
  readonly hint?: string;
  /** What releases before this one, as major * 100 + minor, say or mean. */
  readonly before?: { readonly release: number; readonly suffix?: string; readonly hint?: string };
}

const LOG = "the provider's log tells more: FI_LOG_LEVEL=warn";
const ANOTHER = 'open another endpoint';
const VERSIONS = 'run the same version of libfabric on both sides';
const EXCHANGE = 'exchange addresses anew, and av.insert() the new one';
const SILENT =
  'its process is stopped or gone, its host is down, or the network between loses packets (npx libfabric stats)';
const SECURITY_GROUP =
  'both security groups must allow all traffic to and from the group itself, egress too: a rule for 0.0.0.0/0 does not match EFA';
const FULL = 'a completion queue overran: give it room for all that can be in flight ({ size })';

/** By number. Names are the headers' without their prefix: efa_io_defs.h, efa_errno.h. */
const ROWS: Readonly<Record<number, Row>> = {
  0: { suffix: 'OK', text: 'Success' },
  1: {
    suffix: 'FLUSHED',
    text: 'The queue pair ended with the operation in it',
    hint: ANOTHER,
  },
  2: {
    suffix: 'LOCAL_ERROR_QP_INTERNAL_ERROR',
    text: 'The queue pair failed',
    hint: ANOTHER,
  },
  3: {
    suffix: 'LOCAL_ERROR_UNSUPPORTED_OP',
    text: 'The device does not have this operation',
    hint: "ask for no more than the device's capabilities (npx libfabric devices)",
    before: { release: 122, suffix: 'LOCAL_ERROR_INVALID_OP_TYPE' },
  },
  4: {
    suffix: 'LOCAL_ERROR_INVALID_AH',
    text: 'The address handle of the peer is not valid',
    hint: 'the peer was removed from the address vector: insert it again',
  },
  5: {
    suffix: 'LOCAL_ERROR_INVALID_LKEY',
    text: 'The memory of this side is not registered for the operation',
    hint: 'its region is closed, or lacks the right (FI_SEND, FI_RECV, FI_READ, FI_WRITE)',
  },
  6: {
    suffix: 'LOCAL_ERROR_BAD_LENGTH',
    text: 'The message is too long',
    hint: 'see epAttr.maxMsgSize, and FI_OPT_MAX_RMA_SIZE for RMA',
  },
  7: {
    suffix: 'REMOTE_ERROR_BAD_ADDRESS',
    text: 'The peer has no such memory for the operation',
    hint: "the peer has closed the region, has not granted the right (FI_REMOTE_READ, FI_REMOTE_WRITE), or has restarted: get the region's descriptor anew",
    before: {
      release: 122,
      hint: "the peer's interface is down, or for RMA: the peer has closed the region, has not granted the right (FI_REMOTE_READ, FI_REMOTE_WRITE), or has restarted: get the region's descriptor anew",
    },
  },
  8: {
    suffix: 'REMOTE_ERROR_ABORT',
    text: 'The peer reset the connection',
    retryable: true,
    hint: 'its endpoint may have been closed meanwhile',
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
    hint: 'have the peer post more receives, and the device retry for longer (FI_OPT_EFA_RNR_RETRY, 7: for ever)',
  },
  11: {
    suffix: 'REMOTE_ERROR_BAD_LENGTH',
    text: 'The receive buffer of the peer is too short',
    hint: 'have the peer post receives as long as the messages',
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
    // It stood for what is 15 later, too.
    before: {
      release: 200,
      hint: `${SILENT}; or, where the peer has never answered: ${SECURITY_GROUP}`,
    },
  },
  14: {
    suffix: 'REMOTE_ERROR_UNKNOWN_PEER',
    text: 'The peer does not know this endpoint',
    hint: "the target of RMA must know the initiator: have it av.insert() this endpoint's address",
  },
  15: {
    suffix: 'LOCAL_ERROR_UNREACH_REMOTE',
    text: 'The peer cannot be reached: it has never answered',
    hint: `${SECURITY_GROUP}; both sides must be in one subnet, or in ones that EFA traffic may cross; or the peer has ended`,
  },
  18: {
    suffix: 'REMOTE_ERROR_FEATURE_MISMATCH',
    text: 'The peer lacks a feature that the operation uses',
    hint: `${VERSIONS}, with the same options, on devices of the same kind`,
  },
  4096: { suffix: 'OTHER', text: 'Unknown error', hint: LOG },
  4097: {
    suffix: 'DEPRECATED_PKT_TYPE',
    text: 'A packet of a kind that is no longer used',
    hint: VERSIONS,
  },
  4098: { suffix: 'INVALID_PKT_TYPE', text: 'A packet of an invalid kind', hint: VERSIONS },
  4099: { suffix: 'UNKNOWN_PKT_TYPE', text: 'A packet of an unknown kind', hint: VERSIONS },
  4100: { suffix: 'PKT_POST', text: 'A packet could not be posted', hint: LOG },
  4101: { suffix: 'PKT_SEND', text: 'A packet could not be sent', hint: LOG },
  4102: { suffix: 'PKT_PROC_MSGRTM', text: 'A message could not be taken in', hint: LOG },
  4103: { suffix: 'PKT_PROC_TAGRTM', text: 'A tagged message could not be taken in', hint: LOG },
  4104: {
    suffix: 'PKT_ALREADY_PROCESSED',
    text: 'A message has the number of an earlier one',
    hint: `the peer has begun anew, after a restart or av.remove(): ${EXCHANGE}`,
  },
  4105: {
    suffix: 'OOM',
    text: 'Out of memory',
    retryable: true,
    hint: 'post less at once, or give the process more memory',
  },
  4106: { suffix: 'MR_DEREG', text: 'Memory stays registered', hint: LOG },
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
    hint: 'post fewer receives at once, and receive what has arrived',
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
    hint: 'the device may have no address handle left: av.remove() the peers that are gone',
  },
  4111: {
    suffix: 'RMA_ADDR',
    text: 'A peer reached for memory that it may not use',
    hint: "the region is closed, or lacks the peer's right: get its descriptor anew on the other side",
  },
  4112: {
    suffix: 'INTERNAL_RX_BUF_POST',
    text: "The provider's receive buffers could not be posted",
    hint: `raise the limit of locked memory (ulimit -l) and ${ANOTHER}`,
  },
  4113: {
    suffix: 'PEER_HANDSHAKE',
    text: 'The peer could not be greeted',
    retryable: true,
    hint: LOG,
  },
  4114: { suffix: 'WR_POST_SEND', text: 'A work request could not be posted', hint: LOG },
  4115: {
    suffix: 'RTM_MISMATCH',
    text: 'RMA of another size than was announced',
    hint: VERSIONS,
  },
  4116: { suffix: 'READ_POST', text: 'A read could not be posted', hint: LOG },
  4117: { suffix: 'RDMA_READ_POST', text: 'A read of the device could not be posted', hint: LOG },
  4118: {
    suffix: 'INVALID_DATATYPE',
    text: 'An atomic operation on a datatype that there is not',
    hint: VERSIONS,
  },
  4119: { suffix: 'WRITE_SEND_COMP', text: 'No completion for a send', hint: FULL },
  4120: { suffix: 'WRITE_RECV_COMP', text: 'No completion for a receive', hint: FULL },
  4121: { suffix: 'DGRAM_CQ_READ', text: 'The queue of datagrams cannot be read', hint: FULL },
  4122: {
    suffix: 'SHM_INTERNAL_ERROR',
    text: 'Shared memory to a peer of this host failed',
    hint: 'do without it: FI_EFA_ENABLE_SHM_TRANSFER=0, or the option FI_OPT_SHARED_MEMORY_PERMITTED',
  },
  4123: {
    suffix: 'WRITE_SHM_CQ_ENTRY',
    text: 'No completion for an operation through shared memory',
    hint: FULL,
  },
  4124: {
    suffix: 'ESTABLISHED_RECV_UNRESP',
    text: 'The peer no longer answers: it did once',
    retryable: true,
    hint: SILENT,
  },
  4125: {
    suffix: 'INVALID_PKT_TYPE_ZCPY_RX',
    text: 'A packet that does not go with receives without a copy',
    hint: `${VERSIONS}, or do without: FI_EFA_USE_ZCPY_RX=0`,
  },
  4126: {
    suffix: 'UNESTABLISHED_RECV_UNRESP',
    text: 'The peer can be reached, but has never answered',
    hint: `the peer has ended, or has restarted: ${EXCHANGE}; or ${SECURITY_GROUP}`,
  },
  4127: {
    suffix: 'PEER_ABORTED',
    text: 'The peer closed its region or endpoint during the transfer',
    hint: 'the peer has cancelled it: agree with it anew',
  },
};

const OWN = 4096;
// What 1.17 to 1.20.1 put before the device's statuses.
const FIRST_NAMES = { prefix: 'FI_EFA_', before: 121 };

/** The release of libfabric whose names and meanings are the present ones. */
const LATEST = { major: 2, minor: 7 };

/**
 * What a provider error number of the efa provider means; undefined for one that no release of it
 * has.
 *
 * @param version of libfabric: names differ between releases, and what a number stands for.
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

/** @internal The numbers by name: all names of all releases, with and without their prefixes. */
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
