// fi_msg(3)
import type { Peer } from '../base/peer.js';
import { Op } from '../contract/layout.js';
import type { Buffers } from '../engine/memory.js';
import {
  beginInject,
  beginRecv,
  beginRecvv,
  beginSend,
  beginSendv,
  setData,
  submit,
} from './posting.js';
import {
  checkCall,
  checkData,
  checkOpen,
  type OperationOptions,
  optionalData,
  refuse,
  type Source,
  type Target,
  VECTOR_NAMES,
  type VectorOptions,
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

export const msgSend: object = {
  send(buffer, peer, options) {
    try {
      const checked = checkCall(this, options);
      const at = beginSend(this, Op.Send, buffer, peer, checked);
      return submit(this, at, checked);
    } catch (error) {
      return refuse(this, error);
    }
  },
  sendv(buffers, peer, options) {
    try {
      const checked = checkCall(this, options, VECTOR_NAMES);
      const data = optionalData(this.limits, options);
      const at = beginSendv(this, Op.Send, buffers, peer, checked);
      setData(this, at, data);
      return submit(this, at, checked);
    } catch (error) {
      return refuse(this, error);
    }
  },
  senddata(buffer, data, peer, options) {
    try {
      checkData(this.limits, data);
      const checked = checkCall(this, options);
      const at = beginSend(this, Op.Send, buffer, peer, checked);
      setData(this, at, data);
      return submit(this, at, checked);
    } catch (error) {
      return refuse(this, error);
    }
  },
  inject(buffer, peer) {
    try {
      checkOpen(this.limits);
      const at = beginInject(this, Op.Inject, buffer, peer);
      return submit(this, at);
    } catch (error) {
      return refuse(this, error);
    }
  },
  injectdata(buffer, data, peer) {
    try {
      checkData(this.limits, data);
      checkOpen(this.limits);
      const at = beginInject(this, Op.Inject, buffer, peer);
      setData(this, at, data);
      return submit(this, at);
    } catch (error) {
      return refuse(this, error);
    }
  },
} satisfies MsgSend<unknown> & ThisType<Target>;

export const msgRecv: object = {
  recv(buffer, source, options) {
    try {
      const checked = checkCall(this, options);
      const at = beginRecv(this, Op.Recv, buffer, source, checked);
      return submit(this, at, checked);
    } catch (error) {
      return refuse(this, error);
    }
  },
  recvv(buffers, source, options) {
    try {
      const checked = checkCall(this, options);
      const at = beginRecvv(this, Op.Recv, buffers, source, checked);
      return submit(this, at, checked);
    } catch (error) {
      return refuse(this, error);
    }
  },
} satisfies MsgRecv<unknown> & ThisType<Target>;
