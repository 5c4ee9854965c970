import { asCancellation, countAsHandled } from '../base/cancellation.js';
import { efaStatus, PEER_ABORTED } from '../base/efa-statuses.js';
import { endsWith } from '../base/ends.js';
import { errnoByCode } from '../base/error-codes.js';
import { hintOfCall, hintOfSharedMemory } from '../base/error-hints.js';
import { FabricError, type FabricErrorDetails } from '../base/errors.js';
import type { Peer } from '../base/peer.js';
import { completionFlagNames } from '../contract/flag-bits.js';
import { type Handle, type NativeFailedCompletion, native } from '../contract/native.js';
import { version } from '../info/library.js';

/** The details of a failed operation. */
export interface Failure {
  readonly errno: number;
  readonly syscall: string;
  /** The provider's text, or this package's. */
  readonly text: string;
  readonly provErrno: number;
  /** The provider that defines provErrno. Undefined for failures of this package. */
  readonly provider?: string;
  /** The remedy, if this package knows it. */
  readonly hint?: string;
  /** Whether the endpoint is unusable from now on. */
  readonly broken?: boolean;
  /** For an aborted or timed-out operation: resolves when it has ended. */
  readonly released?: Promise<void>;
  /** For an operation of a batch: its index. */
  readonly index?: number;
  /** The peer of the operation. */
  readonly peer?: Peer | undefined;
  /** Whether no operation that names this peer has succeeded. */
  readonly silent?: boolean;
  /** The fields of the completion. */
  readonly completion?: NativeFailedCompletion;
}

/** The failure that the addon stores under a key. */
export function takeFailure(
  domain: Handle<'Domain'>,
  peers: ReadonlyMap<number, Peer>,
  errno: number,
  key: number,
): Failure {
  const { peer, ...taken } = native.takeError(domain, key);
  return { ...taken, errno, peer: peer === undefined ? undefined : peers.get(peer) };
}

export function errorOf(failure: Failure): FabricError {
  const { errno, syscall } = failure;
  const error = new FabricError(errno, syscall || 'libfabric', detailsOf(failure), errorOf);
  return isByClose(failure) ? asCancellation(error) : error;
}

/**
 * Whether close() has cancelled the operation. A provider may cancel one too, for example because its
 * peer is gone: then the failure names a libfabric call.
 */
export const isByClose = ({ errno, syscall }: Failure): boolean =>
  errno === errnoByCode.FI_ECANCELED && syscall === '';

/** Whether the sender has aborted the message of a receive. */
export const isAbortedBySender = ({ provider, provErrno }: Failure): boolean =>
  provider === 'efa' && provErrno === PEER_ABORTED;

function detailsOf(failure: Failure): FabricErrorDetails {
  const { index, peer, completion } = failure;
  return { ...causeOf(failure), index, peer, ...(completion && entryOf(completion)) };
}

function entryOf(entry: NativeFailedCompletion): FabricErrorDetails {
  const { flags, len, olen, data, tag, errData } = entry;
  const names = completionFlagNames(Number(flags & 0xffff_ffffn), Number(flags >> 32n));
  return {
    flags: names,
    len,
    errData,
    ...(olen > 0 && { olen }),
    ...(names.includes('FI_TAGGED') && { tag }),
    ...(names.includes('FI_REMOTE_CQ_DATA') && data !== 0n && { data }), // shm reports 0 for every message
  };
}

function causeOf(failure: Failure): FabricErrorDetails {
  const { errno, syscall, text, provErrno, provider = '', hint } = failure;
  const isTruncated = errno === errnoByCode.FI_ETRUNC;
  if (provErrno === 0) {
    const remedy = isTruncated ? INTO_LONGER : hintOfCall(provider, syscall, errno, text);
    return { detail: text === NO_ERROR ? '' : text, hint: hint ?? remedy };
  }
  const truncated = isTruncated && { hint: longerThan(failure.completion) };
  return {
    ...{ provErrno, provMessage: text, ...truncated },
    ...(provider === 'efa' && efaDetailsOf(failure)),
  };
}

const NO_ERROR = 'Success'; // what providers say of 0
const INTO_LONGER = 'receive into a longer one';

function longerThan(completion: NativeFailedCompletion | undefined): string {
  const { len = 0, olen = 0 } = completion ?? {};
  const message = olen > 0 ? `the message had ${len + olen} bytes and` : 'the message';
  return `${message} was longer than the buffer of its receive: ${INTO_LONGER}`;
}

const UNKNOWN = 'Unknown error';

function efaDetailsOf({ errno, text, provErrno, broken }: Failure): FabricErrorDetails {
  const library = version();
  // The shm provider below efa repeats the errno as its provider error. In 1.x every device status has
  // the errno EIO, so EIO is ambiguous.
  const ambiguous = errno === errnoByCode.FI_EIO && library.major < 2;
  if (provErrno === errno && !ambiguous) return { hint: hintOfSharedMemory(errno) };
  const status = efaStatus(provErrno, library);
  const another = broken === true && !status?.hint?.includes(ANOTHER) ? ANOTHER : undefined;
  const hint = [status?.hint, another].filter((each) => each !== undefined).join('; ');
  return {
    ...(status !== undefined && {
      provCode: status.name,
      provMessage: text === UNKNOWN || text === '' ? status.text : text,
      retryable: status.retryable && broken !== true,
    }),
    ...(hint !== '' && { hint }),
  };
}

const ANOTHER = 'open another endpoint';

/**
 * A promise that rejects with the failure's error. The error's stack names the function that awaits
 * the operation: V8 follows the promises that wait for the one whose reaction is running, so the
 * error is created one step after the operation's promise has begun to wait for this one.
 *
 * @param promise the operation's. It counts as handled if close() has cancelled the operation: only
 * now, because V8 follows a promise only if nobody else waits for it.
 */
export async function rejectLater(failure: Failure, promise: Promise<unknown>): Promise<never> {
  await null;
  await null;
  const error = errorOf(failure);
  if (failure.released !== undefined) endsWith(error, failure.released);
  if (isByClose(failure)) countAsHandled(promise);
  throw error;
}

/** The error for an engine thread that is stuck in a provider call. */
export function unresponsive(syscall: string): FabricError {
  const detail = 'the provider does not return from a call';
  const hint =
    'close the domain or the transfer engine, which leaks it, and open another one, or end the process';
  return new FabricError(errnoByCode.FI_ETIMEDOUT, syscall, { detail, hint }, unresponsive);
}
