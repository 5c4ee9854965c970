import { checkSignal } from '../base/abort-signals.js';
import { check64, checkNames, checkObject, namesOf } from '../base/checks.js';
import { errnoByCode } from '../base/error-codes.js';
import {
  closed,
  FabricError,
  invalidArgType,
  invalidArgValue,
  invalidThis,
  outOfRange,
  startAtCaller,
} from '../base/errors.js';
import type { OpFlag } from '../base/flags.js';
import { notAPeer, Peer } from '../base/peer.js';
import { checkTimeout } from '../base/wait-options.js';
import { hasFlag, opFlagBits } from '../contract/flag-bits.js';
import type { Engine } from '../engine/engine.js';
import type { Kind } from '../engine/requests.js';
import type { Sink } from '../engine/submissions.js';

/** FI_REMOTE_CQ_DATA: the operation carries data for the peer's completion. */
export const REMOTE_CQ_DATA = 2 ** 17;

/** The limits of one endpoint, and its handles in the engine. */
export interface Limits {
  readonly engine: Engine;
  /** The endpoint's handle in the engine's table. */
  readonly handle: number;
  /** The identity of the endpoint's address vector. */
  readonly vector: object;
  readonly maxMsgSize: number;
  readonly injectSize: number;
  readonly sendSegments: number;
  readonly receiveSegments: number;
  /** The number of local buffers of an RMA operation. */
  readonly rmaSegments: number;
  /** The number of pieces of remote regions. */
  readonly remoteSegments: number;
  /** The bytes of remote CQ data that the provider delivers. */
  readonly remoteData: number;
  /** Whether a receive with FI_PEEK leaves the message where it is. */
  readonly peeks: boolean;
  readonly directedReceive: boolean;
  /** Operation flags that are specific to the provider. */
  readonly ownFlags: bigint;
  /** The timeout of operations that have none, in milliseconds. */
  readonly timeout: number | undefined;
  isClosed: boolean;
}

/** @internal An endpoint whose messages are streamed. */
export interface Receiver {
  readonly limits: Limits;
  readonly receiveQueue: { unsolicited(error: FabricError): void };
}

/**
 * The target of the data transfer calls: the endpoint (each call returns a promise), a batch (the
 * index of the operation) or `endpoint.post` (nothing; the completion is read from the queue).
 */
export interface Target {
  readonly limits: Limits;
  readonly sink: Sink;
  /** Starts an operation that uses `owner`. Returns its number, or throws. */
  begin(kind: Kind, owner: unknown, options: CheckedOptions | undefined): number;
  /** Ends an operation that was begun and not written. */
  withdraw(request: number): void;
  /** The return value of a call whose operation was written. */
  finish(request: number, options: CheckedOptions | undefined): unknown;
  /** Rejects or throws the error of a call. */
  refuse(error: unknown): unknown;
}

/** Options of every operation. */
export interface OperationOptions {
  /**
   * Flags of this operation: fi_msg(3), fi_rma(3). They are added to the endpoint's default flags.
   */
  readonly flags?: readonly OpFlag[];
  /**
   * Aborts the operation. An operation that is not posted yet is removed, and a posted receive is
   * cancelled. A posted send or RMA operation cannot be cancelled: its promise rejects, and its
   * memory stays in use until it completes.
   */
  readonly signal?: AbortSignal;
  /**
   * Milliseconds until the operation is aborted with FI_ETIMEDOUT. If omitted, the endpoint's
   * `timeout`, if it has one.
   */
  readonly timeout?: number;
  /** `endpoint.post` only: the context of the operation's queue entry. */
  readonly context?: unknown;
}

/** The names of {@link OperationOptions}. */
export const OPERATION_NAMES = namesOf<OperationOptions>({
  flags: 1,
  signal: 1,
  timeout: 1,
  context: 1,
});

/** Options of operations with several buffers. */
export interface VectorOptions extends OperationOptions {
  /**
   * Remote CQ data of `domainAttr.cqDataSize` bytes, as in `senddata`: FI_REMOTE_CQ_DATA of
   * fi_sendmsg(3).
   */
  readonly data?: bigint | number;
}

/** The names of {@link VectorOptions}. */
export const VECTOR_NAMES = [...OPERATION_NAMES, 'data'] as const;

/**
 * The checked options of an operation. They are read only once, because a getter runs the caller's
 * code.
 */
export interface CheckedOptions {
  readonly flags: bigint | number;
  readonly signal: AbortSignal | undefined;
  readonly timeout: number | undefined;
  readonly context: unknown;
  /** RMA and atomics: the offset in the remote region. */
  offset: number;
  /** The caller's object, and the names that its members may have: checkNames(). */
  readonly given: object;
  readonly names: readonly string[];
}

/** The owner of an inject, whose payload is in the ring. As in C, its success is no completion. */
export const INJECTED: object = Object.freeze({});

/** The source of a receive, or null for any peer. */
export type Source = Peer | null | undefined;

export function checkOpen(limits: Limits): void {
  if (limits.isClosed) throw closed('the endpoint');
}

/**
 * Reports the error of a call: endpoints reject a promise, batches throw.
 *
 * Each function that posts catches its own errors. One wrapper around all calls would cost a post
 * 1 to 3 ns of 45 to 60 (Node.js 20, medians of 41 interleaved runs): the calls would share its
 * type feedback, so V8 could not inline them into it.
 */
export function refuse(target: Target, error: unknown): unknown {
  if (typeof target?.refuse !== 'function') throw invalidThis('an Endpoint');
  return target.refuse(error);
}

// The code that runs for every operation is kept small enough for V8 to inline all of it into the
// call (920 bytes of bytecode in total): 23 instead of 35 ns per send. The code that refuses an
// argument is in separate functions.

export function peerHandle(limits: Limits, peer: Peer, name = 'peer'): number {
  if (Peer.is(peer) && peer.vector === limits.vector && !peer.removed) return peer.handle;
  throw wrongPeer(peer, name);
}

function wrongPeer(peer: unknown, name: string): Error {
  if (!Peer.is(peer)) return notAPeer(name, peer);
  const was = peer.removed
    ? 'was removed from its address vector'
    : 'belongs to another address vector';
  return invalidArgValue(name, was);
}

export function sourceHandle(limits: Limits, source: Source): number {
  if (source === null || source === undefined) return 0;
  if (!limits.directedReceive) throw unexpectedSource(source);
  return peerHandle(limits, source, 'source');
}

function unexpectedSource(source: unknown): Error {
  if (!Peer.is(source)) return invalidArgType('source', 'a Peer, or null for any peer', source);
  return invalidArgValue('source', 'needs an endpoint that was opened with FI_DIRECTED_RECV');
}

export function checkLength(limits: Limits, length: number, options?: CheckedOptions): void {
  if (length > limits.maxMsgSize || options !== undefined) checkLimits(limits, length, options);
}

function checkLimits(limits: Limits, length: number, options: CheckedOptions | undefined): void {
  if (length > limits.maxMsgSize) {
    const detail = `${length} bytes, but epAttr.maxMsgSize is ${limits.maxMsgSize}`;
    throw startAtCaller(
      new FabricError(errnoByCode.FI_EMSGSIZE, 'fi_send', { detail }, checkLength),
    );
  }
  if (length > limits.injectSize && options !== undefined && hasFlag(options.flags, 'FI_INJECT')) {
    throw outOfRange('buffer', `at most ${limits.injectSize} bytes with FI_INJECT`, length);
  }
}

/** Checks for remote CQ data that the provider would not truncate: fi_domain(3), cq_data_size. */
export function checkData(limits: Limits, data: unknown, name = 'data'): number | bigint {
  const checked = check64(name, data);
  const bytes = limits.remoteData;
  if (bytes === 0) throw outOfRange('data', 'omitted (domainAttr.cqDataSize is 0)', data);
  if (bytes < 8 && checked >= 2 ** (bytes * 8)) {
    throw outOfRange('data', `at most ${bytes} bytes wide (domainAttr.cqDataSize)`, data);
  }
  return checked;
}

/** The remote CQ data of an operation with several buffers. Undefined if it has none. */
export function optionalData(
  limits: Limits,
  options: { readonly data?: bigint | number } | undefined,
): bigint | number | undefined {
  const data = options?.data;
  return data === undefined ? undefined : checkData(limits, data, 'options.data');
}

/** Refuses the signal and timeout of a call that returns no promise. */
export function refuseWait(options: CheckedOptions | undefined, why: string): void {
  if (options?.signal !== undefined) throw invalidArgValue('options.signal', why);
  if (options?.timeout !== undefined) throw invalidArgValue('options.timeout', why);
}

/**
 * Checks an operation's options, except their names. `searches` allows the flags that only trecv
 * supports.
 *
 * The names are checked when the operation begins. An endpoint checks them in every call: 3 ns of a
 * write's 120. A batch and `endpoint.post` have no time for that: checkIdleNames().
 */
export function checkOperationOptions(
  limits: Limits,
  options: OperationOptions | undefined,
  names: readonly string[],
  searches = false,
): CheckedOptions | undefined {
  if (options === undefined) return undefined;
  const { flags, signal, timeout, context } = checkObject('options', options);
  return {
    flags: opFlagBits(flags, searches, limits.ownFlags),
    signal: checkSignal(signal),
    timeout: checkTimeout(timeout),
    context,
    offset: 0,
    given: options,
    names,
  };
}

/** Checks that the endpoint is open, and then the options. */
export function checkCall(
  { limits }: Target,
  options: OperationOptions | undefined,
  names: readonly string[] = OPERATION_NAMES,
): CheckedOptions | undefined {
  checkOpen(limits);
  return options === undefined ? undefined : checkOperationOptions(limits, options, names);
}

/** Checks the names only if no option is set, which is what a misspelt name leads to. */
export function checkIdleNames(options: CheckedOptions): void {
  const { flags, context, given } = options;
  if (flags !== 0 || context !== undefined) return;
  if ((given as { offset?: unknown }).offset === undefined) {
    checkNames('options', given, options.names);
  }
}
