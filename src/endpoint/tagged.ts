// fi_tagged(3)
import { check64, type Names } from '../base/checks.js';
import { errnoByCode } from '../base/error-codes.js';
import { FabricError } from '../base/errors.js';
import type { Peer } from '../base/peer.js';
import { hasFlag } from '../contract/flag-bits.js';
import { Op } from '../contract/layout.js';
import { type Completion, claimToken, endClaim } from '../engine/completion.js';
import type { Buffers } from '../engine/memory.js';
import { Kind } from '../engine/requests.js';
import {
  beginInject,
  beginOne,
  beginRecv,
  beginRecvv,
  beginSend,
  beginSendv,
  setData,
  submit,
} from './posting.js';
import {
  type CheckedOptions,
  checkCall,
  checkData,
  checkOpen,
  checkOperationOptions,
  OPERATION_NAMES,
  type OperationOptions,
  optionalData,
  refuse,
  type Source,
  sourceHandle,
  type Target,
  VECTOR_NAMES,
  type VectorOptions,
} from './target.js';

/** A tag of 64 bits. `epAttr.memTagFormat` tells which bits may be used. */
export type Tag = bigint | number;

/**
 * Sending tagged messages: fi_tagged(3). `S` is the return type.
 *
 * @throws FabricError with the code of fi_cq_readerr(3) or of the call that could not post:
 * FI_EMSGSIZE for more than `epAttr.maxMsgSize` bytes; FI_ETIMEDOUT after `options.timeout`;
 * FI_ECANCELED if the endpoint or its domain is closed first.
 * @throws AbortError, or the reason of `options.signal`.
 * @throws TypeError ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE, RangeError ERR_OUT_OF_RANGE for
 * arguments. Error ERR_CLOSED if the endpoint is closed already.
 */
export interface TaggedSend<S> {
  /**
   * Sends a buffer with a tag. The buffer belongs to the operation until it completes.
   *
   * @throws FabricError FI_EMSGSIZE, FI_ETIMEDOUT, FI_ECANCELED or the code of the failed
   * operation: see {@link TaggedSend}.
   */
  tsend(buffer: Buffers, peer: Peer, tag: Tag, options?: OperationOptions): S;
  /**
   * Sends several buffers, at most `txAttr.iovLimit`, as one message.
   *
   * @throws FabricError FI_EMSGSIZE, FI_ETIMEDOUT, FI_ECANCELED or the code of the failed
   * operation: see {@link TaggedSend}.
   */
  tsendv(buffers: readonly Buffers[], peer: Peer, tag: Tag, options?: VectorOptions): S;
  /**
   * Sends a buffer with remote CQ data of `domainAttr.cqDataSize` bytes.
   *
   * @throws FabricError FI_EMSGSIZE, FI_ETIMEDOUT, FI_ECANCELED or the code of the failed
   * operation: see {@link TaggedSend}.
   */
  tsenddata(
    buffer: Buffers,
    data: bigint | number,
    peer: Peer,
    tag: Tag,
    options?: OperationOptions,
  ): S;
  /**
   * Like inject: at most `txAttr.injectSize` bytes, copied.
   *
   * @throws RangeError ERR_OUT_OF_RANGE for more than `txAttr.injectSize` bytes. FabricError: see
   * {@link TaggedSend}.
   */
  tinject(buffer: ArrayBufferView | ArrayBuffer, peer: Peer, tag: Tag): S;
  /**
   * Like tinject, with remote CQ data.
   *
   * @throws RangeError ERR_OUT_OF_RANGE for more than `txAttr.injectSize` bytes. FabricError: see
   * {@link TaggedSend}.
   */
  tinjectdata(
    buffer: ArrayBufferView | ArrayBuffer,
    data: bigint | number,
    peer: Peer,
    tag: Tag,
  ): S;
}

/** Options of tagged receives. */
export interface TaggedRecvOptions extends OperationOptions {
  /** With `flags: ['FI_CLAIM']`: the completion of a peek with FI_PEEK and FI_CLAIM. */
  readonly claim?: Completion;
}

/**
 * Receiving tagged messages: fi_tagged(3). `R` is the return type.
 *
 * @throws FabricError with the code of fi_cq_readerr(3): FI_ETRUNC if the message is longer than
 * the buffer, FI_ENOMSG if a peek finds no message; FI_ETIMEDOUT after `options.timeout`;
 * FI_ECANCELED if the endpoint or its domain is closed first.
 * @throws AbortError, or the reason of `options.signal`.
 * @throws TypeError ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE, RangeError ERR_OUT_OF_RANGE for
 * arguments. Error ERR_CLOSED if the endpoint is closed already.
 */
export interface TaggedRecv<R> {
  /**
   * Receives a message whose tag equals `tag` in every bit that is not set in `ignore`.
   *
   * With `flags: ['FI_PEEK']` it receives nothing, and the buffer may be null. It completes with
   * the message that a receive would match, or fails with FI_ENOMSG. With FI_CLAIM as well, it
   * reserves the message for a `trecv` with `flags: ['FI_CLAIM'], claim`. shm of libfabric 1.17 and
   * 1.18 cannot peek: FI_EOPNOTSUPP.
   *
   * @throws FabricError FI_ENOMSG if a peek finds no message; FI_ETRUNC, FI_ETIMEDOUT, FI_ECANCELED
   * or the code of the failed receive: see {@link TaggedRecv}.
   */
  trecv(
    buffer: Buffers | null,
    source: Source,
    tag: Tag,
    ignore?: bigint | number,
    options?: TaggedRecvOptions,
  ): R;
  /**
   * Receives into several buffers, at most `rxAttr.iovLimit`, over shm one fewer.
   *
   * @throws FabricError FI_ETRUNC, FI_ETIMEDOUT, FI_ECANCELED or the code of the failed receive:
   * see {@link TaggedRecv}.
   */
  trecvv(
    buffers: readonly Buffers[],
    source: Source,
    tag: Tag,
    ignore?: bigint | number,
    options?: OperationOptions,
  ): R;
}

const RECEIVE_NAMES = [...OPERATION_NAMES, 'claim'] as const satisfies Names<TaggedRecvOptions>;

export const taggedSend: object = {
  tsend(buffer, peer, tag, options) {
    try {
      check64('tag', tag);
      const checked = checkCall(this, options);
      const at = beginSend(this, Op.Tsend, buffer, peer, checked);
      this.sink.entries.setTag(at, tag);
      return submit(this, at, checked);
    } catch (error) {
      return refuse(this, error);
    }
  },
  tsendv(buffers, peer, tag, options) {
    try {
      check64('tag', tag);
      const checked = checkCall(this, options, VECTOR_NAMES);
      const data = optionalData(this.limits, options);
      const at = beginSendv(this, Op.Tsend, buffers, peer, checked);
      this.sink.entries.setTag(at, tag);
      setData(this, at, data);
      return submit(this, at, checked);
    } catch (error) {
      return refuse(this, error);
    }
  },
  tsenddata(buffer, data, peer, tag, options) {
    try {
      check64('tag', tag);
      checkData(this.limits, data);
      const checked = checkCall(this, options);
      const at = beginSend(this, Op.Tsend, buffer, peer, checked);
      this.sink.entries.setTag(at, tag);
      setData(this, at, data);
      return submit(this, at, checked);
    } catch (error) {
      return refuse(this, error);
    }
  },
  tinject(buffer, peer, tag) {
    try {
      check64('tag', tag);
      checkOpen(this.limits);
      const at = beginInject(this, Op.Tinject, buffer, peer);
      this.sink.entries.setTag(at, tag);
      return submit(this, at);
    } catch (error) {
      return refuse(this, error);
    }
  },
  tinjectdata(buffer, data, peer, tag) {
    try {
      check64('tag', tag);
      checkData(this.limits, data);
      checkOpen(this.limits);
      const at = beginInject(this, Op.Tinject, buffer, peer);
      this.sink.entries.setTag(at, tag);
      setData(this, at, data);
      return submit(this, at);
    } catch (error) {
      return refuse(this, error);
    }
  },
} satisfies TaggedSend<unknown> & ThisType<Target>;

export const taggedRecv: object = {
  trecv(buffer, source, tag, ignore = 0, options) {
    try {
      check64('tag', tag);
      check64('ignore', ignore);
      checkOpen(this.limits);
      const checked = checkOperationOptions(this.limits, options, RECEIVE_NAMES, true);
      const at =
        checked === undefined || checked.flags === 0
          ? beginRecv(this, Op.Trecv, buffer as Buffers, source, checked)
          : beginSearch(this, buffer, source, checked, options?.claim);
      this.sink.entries.setTag(at, tag);
      this.sink.entries.setIgnore(at, ignore);
      return submit(this, at, checked);
    } catch (error) {
      return refuse(this, error);
    }
  },
  trecvv(buffers, source, tag, ignore = 0, options) {
    try {
      check64('tag', tag);
      check64('ignore', ignore);
      const checked = checkCall(this, options);
      const at = beginRecvv(this, Op.Trecv, buffers, source, checked);
      this.sink.entries.setTag(at, tag);
      this.sink.entries.setIgnore(at, ignore);
      return submit(this, at, checked);
    } catch (error) {
      return refuse(this, error);
    }
  },
} satisfies TaggedRecv<unknown> & ThisType<Target>;

function takesPeeked(): FabricError {
  const detail = 'a receive with FI_PEEK would take the message';
  const hint = 'use libfabric 1.19 or newer';
  return new FabricError(errnoByCode.FI_EOPNOTSUPP, 'fi_trecvmsg', { detail, hint }, takesPeeked);
}

// A receive with flags. A peek needs no buffer. A receive with FI_CLAIM needs the completion of its
// peek.
function beginSearch(
  target: Target,
  buffer: Buffers | null,
  source: Source,
  options: CheckedOptions,
  claim: Completion | undefined,
): number {
  const { limits } = target;
  const peeks = hasFlag(options.flags, 'FI_PEEK');
  const claims = hasFlag(options.flags, 'FI_CLAIM');
  const discards = hasFlag(options.flags, 'FI_DISCARD');
  if (peeks && !limits.peeks) throw takesPeeked();
  const from = sourceHandle(limits, source);
  const bytes = buffer === null && (peeks || discards) ? new Uint8Array(0) : (buffer as Buffers);
  const location = limits.engine.memory.locate(bytes);
  const token = claims && !peeks ? claimToken(claim) : 0;
  const kind = peeks && claims ? Kind.Claim : Kind.Completion;
  const at = beginOne(target, Op.Trecv, kind, buffer, location, options);
  const { entries } = target.sink;
  entries.setPeer(at, from);
  entries.setClaim(at, token);
  if (token !== 0) endClaim(claim as Completion);
  return at;
}
