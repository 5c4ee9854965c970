// fi_tagged(3)
import { check64, type Names } from '../base/checks.js';
import type { Peer } from '../base/peer.js';
import { hasFlag } from '../contract/flag-bits.js';
import { Op } from '../contract/layout.js';
import { type Completion, claimToken, endClaim } from '../engine/completion.js';
import type { Buffers } from '../engine/memory.js';
import { Kind } from '../engine/requests.js';
import { injectOne, receiveMany, receiveOne, sendMany, sendOne } from './msg.js';
import { postOne } from './posting.js';
import {
  type CheckedOptions,
  checkOpen,
  checkOperationOptions,
  OPERATION_NAMES,
  type OperationOptions,
  REMOTE_CQ_DATA,
  refuse,
  type Source,
  sourceHandle,
  type Target,
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
   * reserves the message for a `trecv` with `flags: ['FI_CLAIM'], claim`.
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
    return sendOne(this, Op.Tsend, buffer, peer, tag, 0, 0, options);
  },
  tsendv(buffers, peer, tag, options) {
    return sendMany(this, Op.Tsend, buffers, peer, tag, options);
  },
  tsenddata(buffer, data, peer, tag, options) {
    return sendOne(this, Op.Tsend, buffer, peer, tag, data, REMOTE_CQ_DATA, options);
  },
  tinject(buffer, peer, tag) {
    return injectOne(this, Op.Tinject, buffer, peer, tag, 0, 0);
  },
  tinjectdata(buffer, data, peer, tag) {
    return injectOne(this, Op.Tinject, buffer, peer, tag, data, REMOTE_CQ_DATA);
  },
} satisfies TaggedSend<unknown> & ThisType<Target>;

export const taggedRecv: object = {
  trecv(buffer, source, tag, ignore = 0, options) {
    try {
      check64('tag', tag);
      check64('ignore', ignore);
      const checked = checkOperationOptions(this.limits, options, RECEIVE_NAMES, true);
      if (checked === undefined || checked.flags === 0) {
        return receiveOne(this, Op.Trecv, buffer as Buffers, source, tag, ignore, checked);
      }
      return receiveFlagged(this, buffer, source, tag, ignore, checked, options?.claim);
    } catch (error) {
      return refuse(this, error);
    }
  },
  trecvv(buffers, source, tag, ignore = 0, options) {
    return receiveMany(this, Op.Trecv, buffers, source, tag, ignore, options);
  },
} satisfies TaggedRecv<unknown> & ThisType<Target>;

// A peek needs no buffer. A receive with FI_CLAIM needs the completion of its peek.
function receiveFlagged(
  target: Target,
  buffer: Buffers | null,
  source: Source,
  tag: Tag,
  ignore: bigint | number,
  options: CheckedOptions,
  claim: Completion | undefined,
): unknown {
  const { limits } = target;
  checkOpen(limits);
  const peeks = hasFlag(options.flags, 'FI_PEEK');
  const claims = hasFlag(options.flags, 'FI_CLAIM');
  const from = sourceHandle(limits, source);
  const discards = hasFlag(options.flags, 'FI_DISCARD');
  const place = limits.engine.memory.locate(
    buffer === null && (peeks || discards) ? new Uint8Array(0) : (buffer as Buffers),
  );
  const token = claims && !peeks ? claimToken(claim) : 0;
  const kind = peeks && claims ? Kind.Claim : Kind.Completion;
  const result = postOne(
    target,
    Op.Trecv,
    kind,
    buffer,
    place,
    from,
    token,
    tag,
    false,
    ignore,
    0,
    options,
  );
  if (token !== 0) endClaim(claim as Completion);
  return result;
}
