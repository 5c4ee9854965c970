// fi_rma(3)
import { checkBytes } from '../base/checks.js';
import type { Peer } from '../base/peer.js';
import { lengthOf } from '../base/views.js';
import { Op } from '../contract/layout.js';
import { type Buffers, RegisteredBytes } from '../engine/memory.js';
import { Kind } from '../engine/requests.js';
import type { RemoteRegion } from '../memory/remote-region.js';
import { Located } from './located.js';
import { beginInject, beginMany, beginOne, locateToSend, setData, submit } from './posting.js';
import { checkRemote, checkRemotePieces, type RemoteSegment } from './remote-pieces.js';
import {
  checkInjectCall,
  checkRmaCall,
  RMA_VECTOR_NAMES,
  type RmaOptions,
  type RmaVectorOptions,
} from './rma-options.js';
import {
  type CheckedOptions,
  checkData,
  checkLength,
  type Limits,
  optionalData,
  peerHandle,
  refuse,
  type Target,
} from './target.js';

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
    try {
      const checked = checkRmaCall(this, options);
      const at = beginTransfer(this, Op.Write, buffer, peer, remote, checked);
      return submit(this, at, checked);
    } catch (error) {
      return refuse(this, error);
    }
  },
  writev(buffers, peer, remote, options) {
    try {
      const checked = checkRmaCall(this, options, RMA_VECTOR_NAMES);
      const data = optionalData(this.limits, options);
      const at = beginTransferv(this, Op.Write, buffers, peer, remote, checked);
      setData(this, at, data);
      return submit(this, at, checked);
    } catch (error) {
      return refuse(this, error);
    }
  },
  writedata(buffer, data, peer, remote, options) {
    try {
      checkData(this.limits, data);
      const checked = checkRmaCall(this, options);
      const at = beginTransfer(this, Op.Write, buffer, peer, remote, checked);
      setData(this, at, data);
      return submit(this, at, checked);
    } catch (error) {
      return refuse(this, error);
    }
  },
  injectWrite(buffer, peer, remote, options) {
    try {
      const checked = checkInjectCall(this, options);
      const at = beginInjectWrite(this, buffer, peer, remote, checked);
      return submit(this, at);
    } catch (error) {
      return refuse(this, error);
    }
  },
  injectWritedata(buffer, data, peer, remote, options) {
    try {
      checkData(this.limits, data);
      const checked = checkInjectCall(this, options);
      const at = beginInjectWrite(this, buffer, peer, remote, checked);
      setData(this, at, data);
      return submit(this, at);
    } catch (error) {
      return refuse(this, error);
    }
  },
} satisfies RmaWrite<unknown> & ThisType<Target>;

export const rmaRead: object = {
  read(buffer, peer, remote, options) {
    try {
      const checked = checkRmaCall(this, options);
      const at = beginTransfer(this, Op.Read, buffer, peer, remote, checked);
      return submit(this, at, checked);
    } catch (error) {
      return refuse(this, error);
    }
  },
  readv(buffers, peer, remote, options) {
    try {
      const checked = checkRmaCall(this, options);
      const at = beginTransferv(this, Op.Read, buffers, peer, remote, checked);
      return submit(this, at, checked);
    } catch (error) {
      return refuse(this, error);
    }
  },
} satisfies RmaRead<unknown> & ThisType<Target>;

/** Begins a write or a read of one buffer. Returns its entry. */
function beginTransfer(
  target: Target,
  code: Op.Write | Op.Read,
  buffer: Buffers,
  peer: Peer,
  remote: RemoteRegion,
  options: CheckedOptions | undefined,
): number {
  const { limits } = target;
  const offset = options === undefined ? 0 : options.offset;
  const to = peerHandle(limits, peer);
  const location =
    code === Op.Write ? locateToSend(target, buffer) : limits.engine.memory.locate(buffer);
  checkLength(limits, location.length, options);
  checkRemote(limits, remote, offset, location.length);
  // The operation keeps the remote region alive too. A local region lives until it is closed.
  const owner = RegisteredBytes.is(buffer) ? remote : [buffer, remote];
  const at = beginOne(target, code, Kind.Void, owner, location, options);
  const { entries } = target.sink;
  entries.setPeer(at, to);
  entries.setRemote(at, remote.handle, offset);
  return at;
}

/** Begins a write or a read of several buffers. Returns its entry. */
function beginTransferv(
  target: Target,
  code: Op.Write | Op.Read,
  buffers: readonly Buffers[],
  peer: Peer,
  remote: RemoteRegion | readonly RemoteSegment[],
  options: CheckedOptions | undefined,
): number {
  const { limits } = target;
  const to = peerHandle(limits, peer);
  const located = locateMany(limits, buffers);
  checkLength(limits, located.total, options);
  const start = options === undefined ? 0 : options.offset;
  const { regions, pieces } = checkRemotePieces(limits, remote, start, located.total);
  const [first, ...further] = pieces;
  located.remotes = further;
  const owner = [located.buffers, regions];
  const at = beginMany(target, code, Kind.Void, owner, located, options);
  const { entries } = target.sink;
  entries.setPeer(at, to);
  entries.setRemote(at, first.handle, first.offset);
  return at;
}

function locateMany({ engine, rmaSegments, sendSegments }: Limits, buffers: readonly Buffers[]) {
  const isLower = rmaSegments < sendSegments;
  return new Located(engine, buffers, rmaSegments, isLower ? { reason: ONE_BUFFER } : undefined);
}

const ONE_BUFFER = 'an RDMA operation of the device has one local buffer';

/** Begins a write of a few bytes, which it copies. Returns its entry. */
function beginInjectWrite(
  target: Target,
  buffer: ArrayBufferView | ArrayBuffer,
  peer: Peer,
  remote: RemoteRegion,
  options: CheckedOptions | undefined,
): number {
  const offset = options === undefined ? 0 : options.offset;
  const bytes = checkBytes('buffer', buffer);
  checkRemote(target.limits, remote, offset, lengthOf(bytes));
  const at = beginInject(target, Op.InjectWrite, bytes, peer, options);
  target.sink.entries.setRemote(at, remote.handle, offset);
  return at;
}
