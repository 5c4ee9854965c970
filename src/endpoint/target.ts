import { check64, checkOptions, checkSignal } from '../checks.js';
import type { Engine } from '../engine/engine.js';
import type { Kind } from '../engine/requests.js';
import type { Sink } from '../engine/submissions.js';
import {
  closed,
  FabricError,
  invalidArgType,
  invalidArgValue,
  invalidThis,
  outOfRange,
  startAtCaller,
} from '../errors.js';
import { hasFlag, opFlagBits } from '../flag-bits.js';
import type { OpFlag } from '../flags.js';
import { Peer } from '../peer.js';
import { checkTimeout } from '../wait-options.js';

const EMSGSIZE = 90;

/** FI_REMOTE_CQ_DATA: the operation carries data for the peer's completion. */
export const REMOTE_CQ_DATA = 2 ** 17;

/** What one endpoint can take, and how the engine knows it. */
export interface Limits {
  readonly engine: Engine;
  /** Handle in the engine's table. */
  readonly handle: number;
  /** The addresses of the endpoint's vector, by identity. */
  readonly vector: object;
  readonly maxMsgSize: number;
  readonly injectSize: number;
  readonly sendSegments: number;
  readonly receiveSegments: number;
  /** Pieces of remote regions. */
  readonly remoteSegments: number;
  /** Bytes of remote CQ data that arrive. */
  readonly remoteData: number;
  readonly directedReceive: boolean;
  /** Flags of operations that only its provider has. */
  readonly ownFlags: bigint;
  isClosed: boolean;
}

/**
 * Where the data transfer calls lead: the endpoint itself (a promise for every operation), a batch
 * (the operation's index) or the queue form (nothing; the completion is read from the queue).
 */
export interface Target {
  readonly limits: Limits;
  readonly sink: Sink;
  /** The number an operation goes by, or an error. `owner` is what it uses. */
  begin(kind: Kind, owner: unknown, options: Chosen | undefined): number;
  /** What the call returns for an operation that has been written. */
  finish(kind: Kind, request: number, options: Chosen | undefined): unknown;
  /** What the call does about an operation that was refused. */
  refuse(error: unknown): unknown;
}

/** Options of every operation. */
export interface OperationOptions {
  /** Flags of this operation: fi_msg(3), fi_rma(3). They add to the endpoint's own. */
  readonly flags?: readonly OpFlag[];
  /**
   * Aborts the operation. One that has not been posted and a posted receive are taken back; a posted
   * send or RMA can't be recalled: its promise rejects, its memory stays in use until it completes.
   */
  readonly signal?: AbortSignal;
  /** Milliseconds after which the operation ends likewise, with FI_ETIMEDOUT. */
  readonly timeout?: number;
  /** `endpoint.post` only: what the queue's entry for this operation has as its context. */
  readonly context?: unknown;
}

/** Options of operations of several buffers. */
export interface VectorOptions extends OperationOptions {
  /**
   * Remote CQ data that the operation carries, as `senddata` does: FI_REMOTE_CQ_DATA of
   * fi_sendmsg(3), of `domainAttr.cqDataSize` bytes.
   */
  readonly data?: bigint | number;
}

/** The options of an operation, checked and read once: getters are the caller's code. */
export interface Chosen {
  readonly flags: bigint | number;
  readonly signal: AbortSignal | undefined;
  readonly timeout: number | undefined;
  readonly context: unknown;
}

/** A receive's source, or null for any. */
export type Source = Peer | null | undefined;

export function checkOpen(limits: Limits): void {
  if (limits.isClosed) throw closed('the endpoint');
}

/** What a call does about its error: a promise rejects, a batch throws. */
export function refuse(target: Target, error: unknown): unknown {
  if (typeof target?.refuse !== 'function') throw invalidThis('an Endpoint');
  return target.refuse(error);
}

// What runs for every operation is kept so small that V8 inlines all of it into the call (920 bytes
// of bytecode in all): 23 instead of 35 ns a send. What refuses is apart.

export function peerHandle(limits: Limits, peer: Peer, name = 'peer'): number {
  if (Peer.is(peer) && peer.vector === limits.vector && !peer.removed) return peer.handle;
  throw wrongPeer(peer, name);
}

function wrongPeer(peer: unknown, name: string): Error {
  if (!Peer.is(peer)) return invalidArgType(name, 'a Peer of the address vector', peer);
  const was = peer.removed ? 'was removed from its address vector' : 'is of another address vector';
  return invalidArgValue(name, was);
}

export function sourceHandle(limits: Limits, source: Source): number {
  if (source === null || source === undefined) return 0;
  if (!limits.directedReceive) {
    throw invalidArgValue('source', 'needs an endpoint that was opened with FI_DIRECTED_RECV');
  }
  return peerHandle(limits, source, 'source');
}

export function checkLength(limits: Limits, length: number, options?: Chosen): void {
  if (length > limits.maxMsgSize || options !== undefined) checkLimits(limits, length, options);
}

function checkLimits(limits: Limits, length: number, options: Chosen | undefined): void {
  if (length > limits.maxMsgSize) {
    const detail = `${length} bytes, but epAttr.maxMsgSize is ${limits.maxMsgSize}`;
    throw startAtCaller(new FabricError(EMSGSIZE, 'fi_send', { detail }, checkLength));
  }
  if (length > limits.injectSize && options !== undefined && hasFlag(options.flags, 'FI_INJECT')) {
    throw outOfRange('buffer', `at most ${limits.injectSize} bytes with FI_INJECT`, length);
  }
}

/** Refuses data that the provider would cut: fi_domain(3), cq_data_size. */
export function checkData(limits: Limits, data: number | bigint): void {
  const bytes = limits.remoteData;
  if (bytes === 0) throw outOfRange('data', 'left out (domainAttr.cqDataSize is 0)', data);
  if (bytes < 8 && data >= 2 ** (bytes * 8)) {
    throw outOfRange('data', `at most ${bytes} bytes wide (domainAttr.cqDataSize)`, data);
  }
}

/** The remote CQ data of an operation of several buffers; 0 and no flag where it has none. */
export function vectorData(
  limits: Limits,
  options: { readonly data?: bigint | number } | undefined,
): { data: bigint | number; flags: number } {
  const data = options?.data;
  if (data === undefined) return { data: 0, flags: 0 };
  checkData(limits, check64('options.data', data));
  return { data, flags: REMOTE_CQ_DATA };
}

/** Refuses what ends a promise's wait where there is no promise. */
export function refuseWait(options: Chosen | undefined, why: string): void {
  if (options?.signal !== undefined) throw invalidArgValue('options.signal', why);
  if (options?.timeout !== undefined) throw invalidArgValue('options.timeout', why);
}

/** Reads an operation's options; `searches` allows the flags of trecv alone. */
export function chooseOptions(
  limits: Limits,
  options: OperationOptions | undefined,
  searches = false,
): Chosen | undefined {
  if (options === undefined) return undefined;
  const { flags, signal, timeout, context } = checkOptions('options', options);
  return {
    flags: opFlagBits(flags, searches, limits.ownFlags),
    signal: checkSignal(signal),
    timeout: checkTimeout(timeout),
    context,
  };
}
