// fi_atomic(3)

import { checkString, type Names, oneOf } from '../base/checks.js';
import { errnoByCode } from '../base/error-codes.js';
import {
  FabricError,
  invalidArgType,
  invalidArgValue,
  outOfRange,
  startAtCaller,
} from '../base/errors.js';
import type { AtomicOp, Datatype } from '../base/flags.js';
import type { Peer } from '../base/peer.js';
import { Op } from '../contract/layout.js';
import { native } from '../contract/native.js';
import type { Buffers } from '../engine/memory.js';
import { Kind } from '../engine/requests.js';
import type { RemoteRegion } from '../memory/remote-region.js';
import { Located } from './located.js';
import { beginMany, submit } from './posting.js';
import { checkRemote } from './remote-pieces.js';
import { checkRmaCall, RMA_NAMES, type RmaOptions } from './rma-options.js';
import { checkLength, peerHandle, refuse, type Target } from './target.js';

/** The operation and the type of its elements. */
export interface AtomicOptions extends RmaOptions {
  readonly datatype: Datatype;
  readonly op: AtomicOp;
}

/**
 * Atomic operations on a peer's memory: fi_atomic(3). `S` is the return type.
 *
 * @throws FabricError FI_EOPNOTSUPP if the provider does not support the operation on this
 * datatype; the code of fi_cq_readerr(3); FI_ETIMEDOUT after `options.timeout`; FI_ECANCELED if the
 * endpoint or its domain is closed first.
 * @throws AbortError, or the reason of `options.signal`.
 * @throws TypeError ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE, RangeError ERR_OUT_OF_RANGE for
 * too many elements or a range outside the remote region. Error ERR_CLOSED.
 */
export interface AtomicCalls<S> {
  /**
   * Applies the operation to the elements of the peer's region, with `operand`.
   *
   * @throws FabricError FI_EOPNOTSUPP, FI_ETIMEDOUT, FI_ECANCELED or the code of the failed
   * operation: see {@link AtomicCalls}.
   */
  atomic(operand: Buffers, peer: Peer, remote: RemoteRegion, options: AtomicOptions): S;
  /**
   * Like atomic, and fetches the previous values into `result`.
   *
   * @throws FabricError FI_EOPNOTSUPP, FI_ETIMEDOUT, FI_ECANCELED or the code of the failed
   * operation: see {@link AtomicCalls}.
   */
  fetchAtomic(
    operand: Buffers,
    result: Buffers,
    peer: Peer,
    remote: RemoteRegion,
    options: AtomicOptions,
  ): S;
  /**
   * Compares with `compare` first, and fetches the previous values into `result`.
   *
   * @throws FabricError FI_EOPNOTSUPP, FI_ETIMEDOUT, FI_ECANCELED or the code of the failed
   * operation: see {@link AtomicCalls}.
   */
  compareAtomic(
    operand: Buffers,
    compare: Buffers,
    result: Buffers,
    peer: Peer,
    remote: RemoteRegion,
    options: AtomicOptions,
  ): S;
}

/** The kinds of atomic operations, named after their calls. */
export type AtomicKind = 'atomic' | 'fetch' | 'compare';

export const atomicCalls: object = {
  atomic(operand, peer, remote, options) {
    return post(this, [operand], peer, remote, options);
  },
  fetchAtomic(operand, result, peer, remote, options) {
    return post(this, [operand, result], peer, remote, options);
  },
  compareAtomic(operand, compare, result, peer, remote, options) {
    return post(this, [operand, result, compare], peer, remote, options);
  },
} satisfies AtomicCalls<unknown> & ThisType<AtomicTarget>;

/** A target with the atomics that its endpoint supports. */
export interface AtomicTarget extends Target {
  readonly atomicQueries: AtomicQueries;
}

interface AtomicLimit {
  readonly count: number;
  readonly size: number;
  readonly datatype: number;
  readonly op: number;
}

const NAMES = [...RMA_NAMES, 'datatype', 'op'] as const satisfies Names<AtomicOptions>;
const KINDS: readonly AtomicKind[] = ['atomic', 'fetch', 'compare'];

/**
 * The cached results of fi_atomicvalid(3), fi_fetch_atomicvalid(3) and fi_compare_atomicvalid(3).
 */
export class AtomicQueries {
  readonly #handle: Parameters<typeof native.endpointAtomicQuery>[0];
  readonly #known = new Map<string, AtomicLimit>();

  constructor(handle: Parameters<typeof native.endpointAtomicQuery>[0]) {
    this.#handle = handle;
  }

  query(kind: AtomicKind, datatype: Datatype, op: AtomicOp): AtomicLimit {
    oneOf('kind', kind, KINDS);
    checkString('datatype', datatype);
    checkString('op', op);
    const key = `${kind} ${datatype} ${op}`;
    let limit = this.#known.get(key);
    if (limit === undefined) {
      const operands = (KINDS.indexOf(kind) + 1) as 1 | 2 | 3;
      limit = native.endpointAtomicQuery(this.#handle, operands, datatype, op);
      this.#known.set(key, limit);
    }
    return limit;
  }
}

// In the order of an operation's segments.
const BUFFERS = ['operand', 'result', 'compare'];

function post(
  target: AtomicTarget,
  buffers: Buffers[],
  peer: Peer,
  remote: RemoteRegion,
  options: AtomicOptions,
): unknown {
  try {
    const { limits } = target;
    const checked = checkRmaCall(target, options, NAMES);
    if (checked === undefined) throw invalidArgType('options', 'an object', options);
    const { datatype, op } = options;
    const { offset } = checked;
    const kind = KINDS[buffers.length - 1] as AtomicKind;
    const limit = target.atomicQueries.query(kind, datatype, op);
    if (limit.count === 0) {
      const detail = `${kind} ${op} of ${datatype} is not supported by the provider`;
      throw startAtCaller(new FabricError(errnoByCode.FI_EOPNOTSUPP, 'fi_atomic', { detail }));
    }
    const to = peerHandle(limits, peer);
    const located = new Located(limits.engine, buffers, buffers.length, { names: BUFFERS });
    const [length, ...others] = located.lengths as [number, ...number[]];
    // FI_ATOMIC_READ has no operand; its size is that of the result.
    const size = others[0] ?? length;
    if (size % limit.size !== 0 || size === 0) {
      throw invalidArgValue('operand', `must hold whole elements of ${limit.size} bytes`);
    }
    if (size / limit.size > limit.count) {
      throw outOfRange('operand', `at most ${limit.count} elements`, size / limit.size);
    }
    if (located.lengths.some((other) => other !== size)) {
      throw invalidArgValue('operand, result and compare', 'must have the same length');
    }
    checkLength(limits, size, checked);
    checkRemote(limits, remote, offset, size);

    const owner = [...buffers, remote];
    const at = beginMany(target, Op.Atomic, Kind.Void, owner, located, checked);
    const { entries } = target.sink;
    entries.setPeer(at, to);
    entries.setRemote(at, remote.handle, offset);
    entries.setAtomic(at, limit.datatype, limit.op);
    return submit(target, at, checked);
  } catch (error) {
    return refuse(target, error);
  }
}
