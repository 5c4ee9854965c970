// fi_rma(3)
import { check64, checkBytes, checkInteger } from '../checks.js';
import { Op } from '../engine/layout.js';
import { type Buffers, RegisteredBytes } from '../engine/memory.js';
import { Kind } from '../engine/requests.js';
import { closed, invalidArgType, invalidArgValue, outOfRange } from '../errors.js';
import type { Peer } from '../peer.js';
import { RemoteRegion } from '../remote-region.js';
import { REMOTE_CQ_DATA } from './msg.js';
import { Located, postInject, postMany, postOne } from './posting.js';
import {
  type Chosen,
  checkData,
  checkLength,
  checkOpen,
  chooseOptions,
  type Limits,
  type OperationOptions,
  peerHandle,
  refuse,
  refuseWait,
  type Target,
} from './target.js';

/** Options of RMA and atomics. */
export interface RmaOptions extends OperationOptions {
  /** Bytes from the start of the remote region; 0 when left out. */
  readonly offset?: number;
}

/** Writing to a peer's memory: fi_rma(3). */
export interface RmaWrite<S> {
  /** Writes a buffer into a peer's region. */
  write(buffer: Buffers, peer: Peer, remote: RemoteRegion, options?: RmaOptions): S;
  /** Writes several buffers, at most `txAttr.iovLimit`, one behind the other. */
  writev(buffers: readonly Buffers[], peer: Peer, remote: RemoteRegion, options?: RmaOptions): S;
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
  /** Reads into several buffers, at most `txAttr.iovLimit`, one behind the other. */
  readv(buffers: readonly Buffers[], peer: Peer, remote: RemoteRegion, options?: RmaOptions): S;
}

export const rmaWrite = {
  write(this: Target, buffer: Buffers, peer: Peer, remote: RemoteRegion, options?: RmaOptions) {
    try {
      return transferOne(this, Op.Write, buffer, 0, 0, peer, remote, options);
    } catch (error) {
      return refuse(this, error);
    }
  },
  writev(
    this: Target,
    buffers: readonly Buffers[],
    peer: Peer,
    remote: RemoteRegion,
    options?: RmaOptions,
  ) {
    try {
      return transferMany(this, Op.Write, buffers, peer, remote, options);
    } catch (error) {
      return refuse(this, error);
    }
  },
  writedata(
    this: Target,
    buffer: Buffers,
    data: bigint | number,
    peer: Peer,
    remote: RemoteRegion,
    options?: RmaOptions,
  ) {
    try {
      checkData(this.limits, check64('data', data));
      return transferOne(this, Op.Write, buffer, data, REMOTE_CQ_DATA, peer, remote, options);
    } catch (error) {
      return refuse(this, error);
    }
  },
  injectWrite(
    this: Target,
    buffer: ArrayBufferView | ArrayBuffer,
    peer: Peer,
    remote: RemoteRegion,
    options?: RmaOptions,
  ) {
    try {
      return injectOne(this, buffer, 0, 0, peer, remote, options);
    } catch (error) {
      return refuse(this, error);
    }
  },
  injectWritedata(
    this: Target,
    buffer: ArrayBufferView | ArrayBuffer,
    data: bigint | number,
    peer: Peer,
    remote: RemoteRegion,
    options?: RmaOptions,
  ) {
    try {
      checkData(this.limits, check64('data', data));
      return injectOne(this, buffer, data, REMOTE_CQ_DATA, peer, remote, options);
    } catch (error) {
      return refuse(this, error);
    }
  },
};

export const rmaRead = {
  read(this: Target, buffer: Buffers, peer: Peer, remote: RemoteRegion, options?: RmaOptions) {
    try {
      return transferOne(this, Op.Read, buffer, 0, 0, peer, remote, options);
    } catch (error) {
      return refuse(this, error);
    }
  },
  readv(
    this: Target,
    buffers: readonly Buffers[],
    peer: Peer,
    remote: RemoteRegion,
    options?: RmaOptions,
  ) {
    try {
      return transferMany(this, Op.Read, buffers, peer, remote, options);
    } catch (error) {
      return refuse(this, error);
    }
  },
};

/** Checks that [offset, offset + length) lies within a peer's region. */
export function checkRemote(
  limits: Limits,
  remote: RemoteRegion,
  offset: number,
  length: number,
): void {
  const usable = RemoteRegion.is(remote) && remote.engine === limits.engine && !remote.closed;
  if (!usable || offset + length > remote.length)
    throw wrongRemote(limits, remote, offset + length);
}

function wrongRemote(limits: Limits, remote: unknown, end: number): Error {
  if (!RemoteRegion.is(remote)) return invalidArgType('remote', 'a RemoteRegion', remote);
  if (remote.engine !== limits.engine) return invalidArgValue('remote', 'is of another domain');
  if (remote.closed) return closed('the remote region');
  return outOfRange('offset + length', `at most ${remote.length} (the remote region)`, end);
}

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
  engine.memory.locate(buffer);
  const { length } = engine.memory;
  checkLength(limits, length, chosen);
  checkRemote(limits, remote, offset, length);
  const kind = Kind.Void;
  const at = remote.handle;
  // The remote region must outlive the operation too. Regions of ours live until they are closed.
  const owner = RegisteredBytes.is(buffer) ? remote : [buffer, remote];
  return postOne(target, code, kind, owner, to, at, offset, true, data, flags, chosen);
}

function transferMany(
  target: Target,
  code: Op,
  buffers: readonly Buffers[],
  peer: Peer,
  remote: RemoteRegion,
  options: RmaOptions | undefined,
): unknown {
  const { limits } = target;
  checkOpen(limits);
  const chosen = chooseOptions(limits, options);
  const offset = offsetOf(options);
  const to = peerHandle(limits, peer);
  const located = new Located(limits.engine, buffers, limits.sendSegments);
  checkLength(limits, located.total, chosen);
  checkRemote(limits, remote, offset, located.total);
  const owner = [located.buffers, remote];
  const at = remote.handle;
  return postMany(target, code, Kind.Void, owner, located, to, at, offset, true, 0, 0, chosen);
}

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
  checkRemote(limits, remote, offset, bytes.length);
  return postInject(target, Op.InjectWrite, bytes, to, remote.handle, offset, true, data, flags);
}
