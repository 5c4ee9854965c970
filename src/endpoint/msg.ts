// fi_msg(3)
import { check64, checkBytes } from '../base/checks.js';
import type { Peer } from '../base/peer.js';
import { Op } from '../contract/layout.js';
import type { Buffers } from '../engine/memory.js';
import { Kind } from '../engine/requests.js';
import { Located, locateToSend, postInject, postMany, postOne } from './posting.js';
import {
  type CheckedOptions,
  checkData,
  checkLength,
  checkOpen,
  checkOperationOptions,
  OPERATION_NAMES,
  type OperationOptions,
  peerHandle,
  REMOTE_CQ_DATA,
  refuse,
  type Source,
  sourceHandle,
  type Target,
  VECTOR_NAMES,
  type VectorOptions,
  vectorData,
} from './target.js';

/**
 * Sending messages: fi_msg(3). `S` is the return type.
 *
 * A completed send says that its buffer may be used again. A long message is then in a receive of the
 * peer; a short one may still wait for one in memory of the peer's provider, or over tcp of a kernel.
 * With FI_DELIVERY_COMPLETE, the peer's provider has it. A peer that does not receive does not hold
 * up short messages. A send to a peer that is gone may stay pending: pass `timeout`.
 *
 * @throws FabricError with the code of fi_cq_readerr(3) or of the call that could not post:
 * FI_EMSGSIZE for more than `epAttr.maxMsgSize` bytes; FI_ETIMEDOUT after `options.timeout`;
 * FI_ECANCELED if the endpoint or its domain is closed first.
 * @throws AbortError, or the reason of `options.signal`.
 * @throws TypeError ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE, RangeError ERR_OUT_OF_RANGE for
 * arguments. Error ERR_CLOSED if the endpoint is closed already.
 */
export interface MsgSend<S> {
  /**
   * Sends a buffer. The buffer belongs to the operation until it completes.
   *
   * @throws FabricError FI_EMSGSIZE, FI_ETIMEDOUT, FI_ECANCELED or the code of the failed
   * operation: see {@link MsgSend}.
   */
  send(buffer: Buffers, peer: Peer, options?: OperationOptions): S;
  /**
   * Sends several buffers, at most `txAttr.iovLimit`, as one message.
   *
   * @throws FabricError FI_EMSGSIZE, FI_ETIMEDOUT, FI_ECANCELED or the code of the failed
   * operation: see {@link MsgSend}.
   */
  sendv(buffers: readonly Buffers[], peer: Peer, options?: VectorOptions): S;
  /**
   * Sends a buffer with remote CQ data of `domainAttr.cqDataSize` bytes.
   *
   * @throws FabricError FI_EMSGSIZE, FI_ETIMEDOUT, FI_ECANCELED or the code of the failed
   * operation: see {@link MsgSend}.
   */
  senddata(buffer: Buffers, data: bigint | number, peer: Peer, options?: OperationOptions): S;
  /**
   * Copies and sends at most `txAttr.injectSize` bytes. The caller may reuse the buffer when the
   * call returns. Completes when the provider has accepted the message, not when it has arrived.
   *
   * @throws RangeError ERR_OUT_OF_RANGE for more than `txAttr.injectSize` bytes. FabricError: see
   * {@link MsgSend}.
   */
  inject(buffer: ArrayBufferView | ArrayBuffer, peer: Peer): S;
  /**
   * Like inject, with remote CQ data.
   *
   * @throws RangeError ERR_OUT_OF_RANGE for more than `txAttr.injectSize` bytes. FabricError: see
   * {@link MsgSend}.
   */
  injectdata(buffer: ArrayBufferView | ArrayBuffer, data: bigint | number, peer: Peer): S;
}

/**
 * Receiving messages: fi_msg(3). `R` is the return type.
 *
 * A receive waits until a message arrives: pass `timeout`. With FI_SOURCE the completion names the
 * sender, if its address has been inserted, and `completion.source` is the peer to reply to.
 * Messages that arrive before a receive is posted are kept in the provider's memory: without bound
 * over tcp and efa.
 *
 * @throws FabricError with the code of fi_cq_readerr(3): FI_ETRUNC if the message is longer than
 * the buffer; FI_ETIMEDOUT after `options.timeout`; FI_ECANCELED if the endpoint or its domain is
 * closed first.
 * @throws AbortError, or the reason of `options.signal`.
 * @throws TypeError ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE, RangeError ERR_OUT_OF_RANGE for
 * arguments. Error ERR_CLOSED if the endpoint is closed already.
 */
export interface MsgRecv<R> {
  /**
   * Receives a message into a buffer: from any peer, or with FI_DIRECTED_RECV from one peer. A
   * message that is longer than the buffer fails with FI_ETRUNC.
   *
   * @throws FabricError FI_ETRUNC, FI_ETIMEDOUT, FI_ECANCELED or the code of the failed receive:
   * see {@link MsgRecv}.
   */
  recv(buffer: Buffers, source?: Source, options?: OperationOptions): R;
  /**
   * Receives a message into several buffers, at most `rxAttr.iovLimit`, over shm one fewer.
   *
   * @throws FabricError FI_ETRUNC, FI_ETIMEDOUT, FI_ECANCELED or the code of the failed receive:
   * see {@link MsgRecv}.
   */
  recvv(buffers: readonly Buffers[], source?: Source, options?: OperationOptions): R;
}

// Over shm, the engine uses one of them for what does not fit.
const RECEIVE_LIMIT = 'rxAttr.iovLimit, over shm one fewer';

export const msgSend: object = {
  send(buffer, peer, options) {
    return sendOne(this, Op.Send, buffer, peer, 0, 0, 0, options);
  },
  sendv(buffers, peer, options) {
    return sendMany(this, Op.Send, buffers, peer, 0, options);
  },
  senddata(buffer, data, peer, options) {
    return sendOne(this, Op.Send, buffer, peer, 0, data, REMOTE_CQ_DATA, options);
  },
  inject(buffer, peer) {
    return injectOne(this, Op.Inject, buffer, peer, 0, 0, 0);
  },
  injectdata(buffer, data, peer) {
    return injectOne(this, Op.Inject, buffer, peer, 0, data, REMOTE_CQ_DATA);
  },
} satisfies MsgSend<unknown> & ThisType<Target>;

export const msgRecv: object = {
  recv(buffer, source, options) {
    try {
      const checked = checkOperationOptions(this.limits, options, OPERATION_NAMES);
      return receiveOne(this, Op.Recv, buffer, source, 0, 0, checked);
    } catch (error) {
      return refuse(this, error);
    }
  },
  recvv(buffers, source, options) {
    return receiveMany(this, Op.Recv, buffers, source, 0, 0, options);
  },
} satisfies MsgRecv<unknown> & ThisType<Target>;

/** Sends one buffer, with or without a tag and data. */
export function sendOne(
  target: Target,
  code: Op,
  buffer: Buffers,
  peer: Peer,
  tag: bigint | number,
  data: bigint | number,
  flags: number,
  options: OperationOptions | undefined,
): unknown {
  try {
    const { limits } = target;
    if (tag !== 0) check64('tag', tag);
    if (flags !== 0) checkData(limits, check64('data', data));
    checkOpen(limits);
    const checked =
      options === undefined ? undefined : checkOperationOptions(limits, options, OPERATION_NAMES);
    const to = peerHandle(limits, peer);
    const place = locateToSend(target, buffer);
    checkLength(limits, place.length, checked);
    return postOne(target, code, Kind.Void, buffer, place, to, 0, tag, false, data, flags, checked);
  } catch (error) {
    return refuse(target, error);
  }
}

export function sendMany(
  target: Target,
  code: Op,
  buffers: readonly Buffers[],
  peer: Peer,
  tag: bigint | number,
  options: VectorOptions | undefined,
): unknown {
  try {
    const { limits } = target;
    check64('tag', tag);
    checkOpen(limits);
    const checked = checkOperationOptions(limits, options, VECTOR_NAMES);
    const { data, flags } = vectorData(limits, options);
    const to = peerHandle(limits, peer);
    const located = new Located(limits.engine, buffers, limits.sendSegments);
    checkLength(limits, located.total, checked);
    const owner = located.buffers;
    const kind = Kind.Void;
    return postMany(target, code, kind, owner, located, to, 0, tag, false, data, flags, checked);
  } catch (error) {
    return refuse(target, error);
  }
}

/** Copies and sends a few bytes, with or without a tag and data. */
export function injectOne(
  target: Target,
  code: Op,
  buffer: ArrayBufferView | ArrayBuffer,
  peer: Peer,
  tag: bigint | number,
  data: bigint | number,
  flags: number,
): unknown {
  try {
    const { limits } = target;
    check64('tag', tag);
    if (flags !== 0) checkData(limits, check64('data', data));
    checkOpen(limits);
    const to = peerHandle(limits, peer);
    const bytes = checkBytes('buffer', buffer);
    return postInject(target, code, bytes, to, 0, tag, false, data, flags);
  } catch (error) {
    return refuse(target, error);
  }
}

/** Receives into one buffer, with or without a tag. */
export function receiveOne(
  target: Target,
  code: Op,
  buffer: Buffers,
  source: Source,
  tag: bigint | number,
  ignore: bigint | number,
  options: CheckedOptions | undefined,
): unknown {
  const { limits } = target;
  checkOpen(limits);
  const from = sourceHandle(limits, source);
  const place = limits.engine.memory.locate(buffer);
  const kind = Kind.Completion;
  return postOne(target, code, kind, buffer, place, from, 0, tag, false, ignore, 0, options);
}

export function receiveMany(
  target: Target,
  code: Op,
  buffers: readonly Buffers[],
  source: Source,
  tag: bigint | number,
  ignore: bigint | number,
  options: OperationOptions | undefined,
): unknown {
  try {
    const { limits } = target;
    check64('tag', tag);
    check64('ignore', ignore);
    checkOpen(limits);
    const checked = checkOperationOptions(limits, options, OPERATION_NAMES);
    const from = sourceHandle(limits, source);
    const { engine, receiveSegments } = limits;
    const located = new Located(engine, buffers, receiveSegments, { reason: RECEIVE_LIMIT });
    const owner = located.buffers;
    const kind = Kind.Completion;
    return postMany(target, code, kind, owner, located, from, 0, tag, false, ignore, 0, checked);
  } catch (error) {
    return refuse(target, error);
  }
}
