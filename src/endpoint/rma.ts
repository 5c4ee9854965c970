// fi_rma(3)
import { check64, checkBytes, checkInteger } from '../checks.js';
import { Op } from '../engine/layout.js';
import { type Buffers, RegisteredBytes } from '../engine/memory.js';
import { Kind } from '../engine/requests.js';
import { invalidArgValue } from '../errors.js';
import type { Peer } from '../peer.js';
import type { RemoteRegion } from '../remote-region.js';
import { lengthOf } from '../views.js';
import { Located, locateToSend, postInject, postMany, postOne } from './posting.js';
import { checkRemote, type RemoteSegment, reach } from './remote-pieces.js';
import {
  type Chosen,
  checkData,
  checkLength,
  checkOpen,
  chooseOptions,
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
  /** Bytes from the start of the remote region; 0 when left out. */
  readonly offset?: number;
}

/** Options of a write of several buffers. */
export interface RmaVectorOptions extends RmaOptions, VectorOptions {}

/** Writing to a peer's memory: fi_rma(3). */
export interface RmaWrite<S> {
  /** Writes a buffer into a peer's region. */
  write(buffer: Buffers, peer: Peer, remote: RemoteRegion, options?: RmaOptions): S;
  /**
   * Writes several buffers, at most `txAttr.iovLimit`, one behind the other, into one region or into
   * several pieces of regions, at most `txAttr.rmaIovLimit`, which together are as long as the buffers:
   * fi_writemsg.
   */
  writev(
    buffers: readonly Buffers[],
    peer: Peer,
    remote: RemoteRegion | readonly RemoteSegment[],
    options?: RmaVectorOptions,
  ): S;
  /** Writes, and tells the peer with data: its `immediates()` and `arrived()` see it. */
  writedata(
    buffer: Buffers,
    data: bigint | number,
    peer: Peer,
    remote: RemoteRegion,
    options?: RmaOptions,
  ): S;
  /** Writes at most `txAttr.injectSize` bytes, which are copied. */
  injectWrite(
    buffer: ArrayBufferView | ArrayBuffer,
    peer: Peer,
    remote: RemoteRegion,
    options?: RmaOptions,
  ): S;
  /** Like injectWrite, and tells the peer with data, as writedata does. */
  injectWritedata(
    buffer: ArrayBufferView | ArrayBuffer,
    data: bigint | number,
    peer: Peer,
    remote: RemoteRegion,
    options?: RmaOptions,
  ): S;
}

/** Reading a peer's memory: fi_rma(3). */
export interface RmaRead<S> {
  /** Reads from a peer's region into a buffer, as many bytes as the buffer has. */
  read(buffer: Buffers, peer: Peer, remote: RemoteRegion, options?: RmaOptions): S;
  /**
   * Reads into several buffers, at most `txAttr.iovLimit`, one behind the other, from one region or from
   * several pieces of regions, at most `txAttr.rmaIovLimit`, which together are as long as the buffers:
   * fi_readmsg.
   */
  readv(
    buffers: readonly Buffers[],
    peer: Peer,
    remote: RemoteRegion | readonly RemoteSegment[],
    options?: RmaOptions,
  ): S;
}

export const rmaWrite = {
  write(buffer, peer, remote, options) {
    try {
      return transferOne(this, Op.Write, buffer, 0, 0, peer, remote, options);
    } catch (error) {
      return refuse(this, error);
    }
  },
  writev(buffers, peer, remote, options) {
    try {
      return transferMany(this, Op.Write, buffers, peer, remote, options);
    } catch (error) {
      return refuse(this, error);
    }
  },
  writedata(buffer, data, peer, remote, options) {
    try {
      checkData(this.limits, check64('data', data));
      return transferOne(this, Op.Write, buffer, data, REMOTE_CQ_DATA, peer, remote, options);
    } catch (error) {
      return refuse(this, error);
    }
  },
  injectWrite(buffer, peer, remote, options) {
    try {
      return injectOne(this, buffer, 0, 0, peer, remote, options);
    } catch (error) {
      return refuse(this, error);
    }
  },
  injectWritedata(buffer, data, peer, remote, options) {
    try {
      checkData(this.limits, check64('data', data));
      return injectOne(this, buffer, data, REMOTE_CQ_DATA, peer, remote, options);
    } catch (error) {
      return refuse(this, error);
    }
  },
} satisfies RmaWrite<unknown> & ThisType<Target>;

export const rmaRead = {
  read(buffer, peer, remote, options) {
    try {
      return transferOne(this, Op.Read, buffer, 0, 0, peer, remote, options);
    } catch (error) {
      return refuse(this, error);
    }
  },
  readv(buffers, peer, remote, options) {
    try {
      return transferMany(this, Op.Read, buffers, peer, remote, options);
    } catch (error) {
      return refuse(this, error);
    }
  },
} satisfies RmaRead<unknown> & ThisType<Target>;

function offsetOf(options: RmaOptions | undefined): number {
  const offset = options?.offset;
  return offset === undefined ? 0 : checkInteger('options.offset', offset);
}

// fi_inject_write(3) takes no flags, and is over when it returns.
function refuseOptions(options: Chosen | undefined): void {
  if (options === undefined) return;
  if (options.flags !== 0) throw invalidArgValue('options.flags', 'are not for inject calls');
  refuseWait(options, 'is not for inject calls');
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
  const { limits } = target;
  const { engine } = limits;
  checkOpen(limits);
  const chosen = options === undefined ? undefined : chooseOptions(limits, options);
  const offset = options === undefined ? 0 : offsetOf(options);
  const to = peerHandle(limits, peer);
  const place = code === Op.Write ? locateToSend(target, buffer) : engine.memory.locate(buffer);
  const { length } = place;
  checkLength(limits, length, chosen);
  checkRemote(limits, remote, offset, length);
  const kind = Kind.Void;
  const at = remote.handle;
  // The remote region must outlive the operation too. Regions of ours live until they are closed.
  const owner = RegisteredBytes.is(buffer) ? remote : [buffer, remote];
  return postOne(target, code, kind, owner, place, to, at, offset, true, data, flags, chosen);
}

function transferMany(
  target: Target,
  code: Op,
  buffers: readonly Buffers[],
  peer: Peer,
  remote: RemoteRegion | readonly RemoteSegment[],
  options: RmaVectorOptions | undefined,
): unknown {
  const { limits } = target;
  checkOpen(limits);
  const chosen = chooseOptions(limits, options);
  const { data, flags } = code === Op.Write ? vectorData(limits, options) : NO_DATA;
  const start = offsetOf(options);
  const to = peerHandle(limits, peer);
  const located = new Located(limits.engine, buffers, limits.sendSegments);
  checkLength(limits, located.total, chosen);
  const { regions, pieces } = reach(limits, remote, start, located.total);
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
    chosen,
  );
}

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
  const { limits } = target;
  checkOpen(limits);
  refuseOptions(chooseOptions(limits, options));
  const offset = offsetOf(options);
  const to = peerHandle(limits, peer);
  const bytes = checkBytes('buffer', buffer);
  checkRemote(limits, remote, offset, lengthOf(bytes));
  return postInject(target, Op.InjectWrite, bytes, to, remote.handle, offset, true, data, flags);
}
