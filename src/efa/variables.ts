import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { checkInteger, checkObject, checkString } from '../base/checks.js';
import { invalidArgType, invalidArgValue, invalidState } from '../base/errors.js';

// The variables that the efa provider of libfabric 1.17 to 2.7 reads, from fi_getparams(3) and
// fi_efa(7). It reads FI_EFA_ENABLE_HIGH_PPS (2.6), FI_EFA_USE_HW_CNTR (since 2.6) and
// FI_EFA_USE_SQ_REQ_ID_64_BIT (since 2.7) without listing them there.
const BOOLEANS = [
  'FI_EFA_ENABLE_HIGH_PPS',
  'FI_EFA_FORK_SAFE',
  'FI_EFA_ENABLE_SHM_TRANSFER',
  'FI_EFA_MR_CACHE_ENABLE',
  'FI_EFA_RX_COPY_OOO',
  'FI_EFA_RX_COPY_UNEXP',
  'FI_EFA_SET_CUDA_SYNC_MEMOPS',
  'FI_EFA_TRACK_MR',
  'FI_EFA_USE_DATA_PATH_DIRECT',
  'FI_EFA_USE_DEVICE_RDMA',
  'FI_EFA_USE_HUGE_PAGE',
  'FI_EFA_USE_HW_CNTR',
  'FI_EFA_USE_SM2',
  'FI_EFA_USE_SQ_REQ_ID_64_BIT',
  'FI_EFA_USE_UNSOLICITED_WRITE_RECV',
  'FI_EFA_USE_ZCPY_RX',
] as const;

const NUMBERS = [
  'FI_EFA_CQ_SIZE',
  'FI_EFA_EFA_CQ_READ_SIZE',
  'FI_EFA_IMPLICIT_AV_SIZE',
  'FI_EFA_INTERNAL_RX_REFILL_THRESHOLD',
  'FI_EFA_INTER_MAX_GDRCOPY_MESSAGE_SIZE',
  'FI_EFA_INTER_MAX_MEDIUM_MESSAGE_SIZE',
  'FI_EFA_INTER_MIN_READ_MESSAGE_SIZE',
  'FI_EFA_INTER_MIN_READ_WRITE_SIZE',
  'FI_EFA_INTER_READ_SEGMENT_SIZE',
  'FI_EFA_MAX_MEMCPY_SIZE',
  'FI_EFA_MAX_TIMEOUT',
  'FI_EFA_MR_MAX_CACHED_COUNT',
  'FI_EFA_MR_MAX_CACHED_SIZE',
  'FI_EFA_READCOPY_POOL_SIZE',
  'FI_EFA_RECVWIN_SIZE',
  'FI_EFA_RUNT_SIZE',
  'FI_EFA_RX_SIZE',
  'FI_EFA_SHM_AV_SIZE',
  'FI_EFA_SHM_CQ_READ_SIZE',
  'FI_EFA_TIMEOUT_INTERVAL',
  'FI_EFA_TX_MIN_CREDITS',
  'FI_EFA_TX_QUEUE_SIZE',
  'FI_EFA_TX_SIZE',
] as const;

const STRINGS = ['FI_EFA_IFACE'] as const;

/**
 * The efa provider's variables, by name: fi_efa(7). A library ignores variables of other
 * releases.
 */
export type EfaVariables = { readonly [Name in (typeof BOOLEANS)[number]]?: boolean } & {
  readonly [Name in (typeof NUMBERS)[number]]?: number;
} & { readonly [Name in (typeof STRINGS)[number]]?: string };

type Value = boolean | number | string;

const includes = (names: readonly string[], name: string) => names.includes(name);

function textOf(name: string, value: unknown): string {
  if (includes(BOOLEANS, name)) {
    if (typeof value !== 'boolean') throw invalidArgType(name, 'a boolean', value);
    return value ? '1' : '0';
  }
  if (includes(NUMBERS, name)) return String(checkInteger(name, value));
  if (includes(STRINGS, name)) return checkString(name, value);
  throw invalidArgValue(name, 'is not a variable of the efa provider');
}

/**
 * Sets variables of the efa provider for this process. Call it before the first use of libfabric,
 * which reads them once.
 *
 * @throws Error ERR_INVALID_STATE if libfabric is already loaded, or in a worker, because the
 * library does not see a worker's `process.env`.
 * @throws TypeError ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE, RangeError ERR_OUT_OF_RANGE.
 */
export function setEfaVariables(variables: EfaVariables): void {
  const texts = Object.entries(checkObject('variables', variables)).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, textOf(name, value)] as const],
  );
  if (!isMainThread) throw invalidState('set variables of libfabric in the main thread');
  if (isLoaded()) {
    throw invalidState('libfabric is already loaded and has read its variables: set them earlier');
  }
  for (const [name, text] of texts) process.env[name] = text;
}

/** Whether anything in this process has loaded libfabric. */
function isLoaded(): boolean {
  return /\/libfabric\.so/.test(readFileSync('/proc/self/maps', 'latin1'));
}

/**
 * The variables of the efa provider that are set in this process's environment. A value that does
 * not have its variable's type is left out, because libfabric ignores it too.
 */
export function efaVariables(): EfaVariables {
  const read = (name: string): Value | undefined => {
    const text = process.env[name];
    if (text === undefined || includes(STRINGS, name)) return text;
    if (includes(NUMBERS, name)) return /^\d+$/.test(text) ? Number(text) : undefined;
    if (/^(1|on|yes|true)$/i.test(text)) return true;
    return /^(0|off|no|false)$/i.test(text) ? false : undefined;
  };
  const known = [...BOOLEANS, ...NUMBERS, ...STRINGS].map((name) => [name, read(name)] as const);
  return Object.fromEntries(known.filter(([, value]) => value !== undefined));
}
