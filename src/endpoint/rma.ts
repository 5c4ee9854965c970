// fi_rma(3)
import { check64, checkBytes, checkInteger, type Names } from '../base/checks.js';
import { invalidArgValue } from '../base/errors.js';
import type { Peer } from '../base/peer.js';
import { lengthOf } from '../base/views.js';
import { Op } from '../contract/layout.js';
import { type Buffers, RegisteredBytes } from '../engine/memory.js';
import { Kind } from '../engine/requests.js';
import type { RemoteRegion } from '../memory/remote-region.js';
import { Located, locateToSend, postInject, postMany, postOne } from './posting.js';
import { checkRemote, checkRemotePieces, type RemoteSegment } from './remote-pieces.js';
import {
  checkData,
  checkLength,
  checkOpen,
  checkOperationOptions,
  type Limits,
  OPERATION_NAMES,
  type OperationOptions,
  peerHandle,
  REMOTE_CQ_DATA,
  refuse,
  refuseWait,
  type Target,
  type VectorOptions,
  vectorData,
} from './target.js';

/** Options of RMA and atomics. */
export interface RmaOptions extends OperationOptions {
  /** Offset in the remote region, in bytes. If omitted, 0. */
  readonly offset?: number;
}

/** The names of {@link RmaOptions}. */
export const RMA_NAMES = [...OPERATION_NAMES, 'offset'] as const satisfies Names<RmaOptions>;

/** Options of a write of several buffers. */
export interface RmaVectorOptions extends RmaOptions, VectorOptions {}

const VECTOR_NAMES = [...RMA_NAMES, 'data'] as const satisfies Names<RmaVectorOptions>;

/**
 * Writing to a peer's memory: fi_rma(3). `S` is the return type.
 *
 * @throws FabricError with the code of fi_cq_readerr(3) or of the call that could not post, for
 * example if the peer refuses the access; FI_EMSGSIZE for more than `epAttr.maxMsgSize` bytes;
 * FI_ETIMEDOUT after `options.timeout`; FI_ECANCELED if the endpoint or its domain is closed first.
 * @throws AbortError, or the reason of `options.signal`.
 * @throws TypeError ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE, RangeError ERR_OUT_OF_RANGE if
 * the transfer exceeds the remote region. Error ERR_CLOSED.
 */
export interface RmaWrite<S> {
  /**
   * Writes a buffer into a peer's region.
   *
   * @throws FabricError FI_EMSGSIZE, FI_ETIMEDOUT, FI_ECANCELED or the code of the failed
   * operation: see {@link RmaWrite}. RangeError ERR_OUT_OF_RANGE outside the remote region.
   */
  write(buffer: Buffers, peer: Peer, remote: RemoteRegion, options?: RmaOptions): S;
  /**
   * Writes several buffers in sequence, at most `txAttr.iovLimit`, and one with the fabric
   * `'efa-direct'`: fi_writemsg. The target is one
   * region, or at most `txAttr.rmaIovLimit` pieces of regions whose total length is that of the
   * buffers.
   *
   * @throws FabricError FI_EMSGSIZE, FI_ETIMEDOUT, FI_ECANCELED or the code of the failed
   * operation: see {@link RmaWrite}. RangeError ERR_OUT_OF_RANGE outside the remote region.
   */
  writev(
    buffers: readonly Buffers[],
    peer: Peer,
    remote: RemoteRegion | readonly RemoteSegment[],
    options?: RmaVectorOptions,
  ): S;
  /**
   * Writes with remote CQ data. The peer receives the data through `immediates()` and `arrived()`.
   *
   * @throws FabricError FI_EMSGSIZE, FI_ETIMEDOUT, FI_ECANCELED or the code of the failed
   * operation: see {@link RmaWrite}. RangeError ERR_OUT_OF_RANGE outside the remote region.
   */
  writedata(
    buffer: Buffers,
    data: bigint | number,
    peer: Peer,
    remote: RemoteRegion,
    options?: RmaOptions,
  ): S;
  /**
   * Copies and writes at most `txAttr.injectSize` bytes.
   *
   * @throws RangeError ERR_OUT_OF_RANGE for more than `txAttr.injectSize` bytes or outside the
   * remote region. FabricError: see {@link RmaWrite}.
   */
  injectWrite(
    buffer: ArrayBufferView | ArrayBuffer,
    peer: Peer,
    remote: RemoteRegion,
    options?: RmaOptions,
  ): S;
  /**
   * Like injectWrite, with remote CQ data as in writedata.
   *
   * @throws RangeError ERR_OUT_OF_RANGE for more than `txAttr.injectSize` bytes or outside the
   * remote region. FabricError: see {@link RmaWrite}.
   */
  injectWritedata(
    buffer: ArrayBufferView | ArrayBuffer,
    data: bigint | number,
    peer: Peer,
    remote: RemoteRegion,
    options?: RmaOptions,
  ): S;
}

/**
 * Reading a peer's memory: fi_rma(3). `S` is the return type.
 *
 * @throws FabricError with the code of fi_cq_readerr(3) or of the call that could not post, for
 * example if the peer refuses the access; FI_EMSGSIZE for more than `epAttr.maxMsgSize` bytes;
 * FI_ETIMEDOUT after `options.timeout`; FI_ECANCELED if the endpoint or its domain is closed first.
 * @throws AbortError, or the reason of `options.signal`.
 * @throws TypeError ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE, RangeError ERR_OUT_OF_RANGE if
 * the transfer exceeds the remote region. Error ERR_CLOSED.
 */
export interface RmaRead<S> {
  /**
   * Reads from a peer's region until the buffer is full.
   *
   * @throws FabricError FI_EMSGSIZE, FI_ETIMEDOUT, FI_ECANCELED or the code of the failed
   * operation: see {@link RmaRead}. RangeError ERR_OUT_OF_RANGE outside the remote region.
   */
  read(buffer: Buffers, peer: Peer, remote: RemoteRegion, options?: RmaOptions): S;
  /**
   * Reads into several buffers in sequence, at most `txAttr.iovLimit`, and one with the fabric
   * `'efa-direct'`: fi_readmsg. The source is
   * one region, or at most `txAttr.rmaIovLimit` pieces of regions whose total length is that of the
   * buffers.
   *
   * @throws FabricError FI_EMSGSIZE, FI_ETIMEDOUT, FI_ECANCELED or the code of the failed
   * operation: see {@link RmaRead}. RangeError ERR_OUT_OF_RANGE outside the remote region.
   */
  readv(
    buffers: readonly Buffers[],
    peer: Peer,
    remote: RemoteRegion | readonly RemoteSegment[],
    options?: RmaOptions,
  ): S;
}

export const rmaWrite: object = {
  write(buffer, peer, remote, options) {
    return transferOne(this, Op.Write, buffer, 0, 0, peer, remote, options);
  },
  writev(buffers, peer, remote, options) {
    return transferMany(this, Op.Write, buffers, peer, remote, options);
  },
  writedata(buffer, data, peer, remote, options) {
    return transferOne(this, Op.Write, buffer, data, REMOTE_CQ_DATA, peer, remote, options);
  },
  injectWrite(buffer, peer, remote, options) {
    return injectOne(this, buffer, 0, 0, peer, remote, options);
  },
  injectWritedata(buffer, data, peer, remote, options) {
    return injectOne(this, buffer, data, REMOTE_CQ_DATA, peer, remote, options);
  },
} satisfies RmaWrite<unknown> & ThisType<Target>;

export const rmaRead: object = {
  read(buffer, peer, remote, options) {
    return transferOne(this, Op.Read, buffer, 0, 0, peer, remote, options);
  },
  readv(buffers, peer, remote, options) {
    return transferMany(this, Op.Read, buffers, peer, remote, options);
  },
} satisfies RmaRead<unknown> & ThisType<Target>;

function offsetOf(options: RmaOptions | undefined): number {
  const offset = options?.offset;
  return offset === undefined ? 0 : checkInteger('options.offset', offset);
}

// fi_inject_write(3) takes no flags and is done when it returns.
function injectOptions(limits: Limits, options: RmaOptions | undefined) {
  const checked = checkOperationOptions(limits, options, RMA_NAMES);
  if (checked === undefined) return undefined;
  if (checked.flags !== 0)
    throw invalidArgValue('options.flags', 'are not supported by inject calls');
  refuseWait(checked, 'is not supported by inject calls');
  return checked;
}

function transferOne(
  target: Target,
  code: Op,
  buffer: Buffers,
  data: bigint | number,
  flags: number,
  peer: Peer,
  remote: RemoteRegion,
  options: RmaOptions | undefined,
): unknown {
  try {
    const { limits } = target;
    if (flags !== 0) checkData(limits, check64('data', data));
    const { engine } = limits;
    checkOpen(limits);
    const checked =
      options === undefined ? undefined : checkOperationOptions(limits, options, RMA_NAMES);
    const offset = options === undefined ? 0 : offsetOf(options);
    const to = peerHandle(limits, peer);
    const place = code === Op.Write ? locateToSend(target, buffer) : engine.memory.locate(buffer);
    const { length } = place;
    checkLength(limits, length, checked);
    checkRemote(limits, remote, offset, length);
    const kind = Kind.Void;
    const at = remote.handle;
    // The operation keeps the remote region alive too. A local region lives until it is closed.
    const owner = RegisteredBytes.is(buffer) ? remote : [buffer, remote];
    return postOne(target, code, kind, owner, place, to, at, offset, true, data, flags, checked);
  } catch (error) {
    return refuse(target, error);
  }
}

function transferMany(
  target: Target,
  code: Op,
  buffers: readonly Buffers[],
  peer: Peer,
  remote: RemoteRegion | readonly RemoteSegment[],
  options: RmaVectorOptions | undefined,
): unknown {
  try {
    const { limits } = target;
    checkOpen(limits);
    const names = code === Op.Write ? VECTOR_NAMES : RMA_NAMES;
    const checked = checkOperationOptions(limits, options, names);
    const { data, flags } = code === Op.Write ? vectorData(limits, options) : NO_DATA;
    const start = offsetOf(options);
    const to = peerHandle(limits, peer);
    const located = locateMany(limits, buffers);
    checkLength(limits, located.total, checked);
    const { regions, pieces } = checkRemotePieces(limits, remote, start, located.total);
    const [{ handle, offset }, ...further] = pieces;
    located.remotes = further;
    const owner = [located.buffers, regions];
    const kind = Kind.Void;
    return postMany(
      target,
      code,
      kind,
      owner,
      located,
      to,
      handle,
      offset,
      true,
      data,
      flags,
      checked,
    );
  } catch (error) {
    return refuse(target, error);
  }
}

function locateMany({ engine, rmaSegments, sendSegments }: Limits, buffers: readonly Buffers[]) {
  const isLower = rmaSegments < sendSegments;
  return new Located(engine, buffers, rmaSegments, isLower ? { reason: ONE_BUFFER } : undefined);
}

const ONE_BUFFER = 'an RDMA operation of the device has one local buffer';
const NO_DATA = { data: 0, flags: 0 } as const;

function injectOne(
  target: Target,
  buffer: ArrayBufferView | ArrayBuffer,
  data: bigint | number,
  flags: number,
  peer: Peer,
  remote: RemoteRegion,
  options: RmaOptions | undefined,
): unknown {
  try {
    const { limits } = target;
    if (flags !== 0) checkData(limits, check64('data', data));
    checkOpen(limits);
    const checked = injectOptions(limits, options);
    const offset = offsetOf(options);
    const to = peerHandle(limits, peer);
    const bytes = checkBytes('buffer', buffer);
    checkRemote(limits, remote, offset, lengthOf(bytes));
    const at = remote.handle;
    const code = Op.InjectWrite;
    return postInject(target, code, bytes, to, at, offset, true, data, flags, checked);
  } catch (error) {
    return refuse(target, error);
  }
}
