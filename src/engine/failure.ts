import { efaStatus } from '../efa-statuses.js';
import { hintOfCall, hintOfSharedMemory } from '../error-hints.js';
import { FabricError, type FabricErrorDetails } from '../errors.js';
import { completionFlagNames } from '../flag-bits.js';
import { version } from '../library.js';
import { type Handle, type NativeFailedCompletion, native } from '../native.js';
import type { Peer } from '../peer.js';
import { endsWith } from '../released.js';

/** What is known of an operation that failed. */
export interface Failure {
  readonly errno: number;
  readonly syscall: string;
  /** The provider's words, or ours. */
  readonly text: string;
  readonly provErrno: number;
  /** The provider, whose numbers mean what they mean nowhere else; none for failures of ours. */
  readonly provider?: string;
  /** Whether the endpoint works no more. */
  readonly broken?: boolean;
  /** Of an operation that was given up: when it has ended. */
  readonly released?: Promise<void>;
  /** Of an operation of a batch: which. */
  readonly index?: number;
  /** Whom the operation was for. */
  readonly peer?: Peer | undefined;
  /** What the completion told. */
  readonly completion?: NativeFailedCompletion;
}

/** The failure that the addon keeps under a key. */
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
  return new FabricError(errno, syscall || 'libfabric', detailsOf(failure), errorOf);
}

function detailsOf(failure: Failure): FabricErrorDetails {
  const { index, peer, completion } = failure;
  return { ...causeOf(failure), index, peer, ...(completion && entryOf(completion)) };
}

const REMOTE_CQ_DATA = 1n << 17n;
const TAGGED = 1n << 3n;

function entryOf(entry: NativeFailedCompletion): FabricErrorDetails {
  const { flags, len, olen, data, tag, errData } = entry;
  const names = completionFlagNames(Number(flags & 0xffff_ffffn), Number(flags >> 32n));
  return {
    flags: names,
    len,
    errData,
    ...(olen > 0 && { olen }),
    ...((flags & TAGGED) !== 0n && { tag }),
    ...((flags & REMOTE_CQ_DATA) !== 0n && data !== 0n && { data }), // shm has 0 for all
  };
}

function causeOf(failure: Failure): FabricErrorDetails {
  const { errno, syscall, text, provErrno, provider = '' } = failure;
  if (provErrno === 0) return { detail: text, hint: hintOfCall(provider, syscall, errno, text) };
  return { provErrno, provMessage: text, ...(provider === 'efa' && efaDetailsOf(failure)) };
}

const EIO = 5;
const UNKNOWN = 'Unknown error';

function efaDetailsOf({ errno, text, provErrno, broken }: Failure): FabricErrorDetails {
  const library = version();
  // The shm provider below efa repeats the errno; that is EIO for every status of the device in 1.x.
  const ambiguous = errno === EIO && library.major < 2;
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
 * A promise that rejects with the failure's error, made so that its stack names whoever awaits the
 * operation. V8 follows the promises that wait for the one whose reaction is running, so the error
 * is created one step after the operation's promise has begun to wait for this one.
 */
export async function rejectLater(failure: Failure): Promise<never> {
  await null;
  await null;
  const error = errorOf(failure);
  if (failure.released !== undefined) endsWith(error, failure.released);
  throw error;
}
