import { checkString } from '../base/checks.js';
import { uncloneable } from '../base/describe.js';
import { closed, invalidArgType, invalidArgValue } from '../base/errors.js';
import { notAPeer, Peer } from '../base/peer.js';
import { CompletionQueue } from '../completion-queue.js';
import type { EfaAddr, EfaCqAttr, EfaFeature, EfaMrAttr, EfaQpWqs } from '../contract/efa-types.js';
import { native } from '../contract/native.js';
import { EndpointBase } from '../endpoint/endpoint.js';
import type { Engine } from '../engine/engine.js';
import { MemoryRegion } from '../memory/memory-region.js';

const UNCLONEABLE = uncloneable('domain.efa belongs to its domain: send what its calls return');

/**
 * Queries of the efa provider, through fi_open_ops(3): fi_efa(7). Each call checks at run time
 * whether the loaded library supports it.
 *
 * @throws FabricError FI_ENOSYS if this libfabric does not have the call; FI_EOPNOTSUPP if the
 * device does not support it, or if the fabric is not efa-direct.
 * @throws TypeError ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE. Error ERR_CLOSED.
 */
export class EfaQueries {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  readonly #engine: Engine;

  /** @internal */
  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** @internal Whether the domain is closed. */
  get closed(): boolean {
    return !this.#engine.open;
  }

  /**
   * The interconnects by which the device reaches a region: libfabric 1.22 and later.
   *
   * @throws FabricError FI_ENOSYS, FI_EOPNOTSUPP: see {@link EfaQueries}. TypeError. Error
   * ERR_CLOSED.
   */
  queryMr(region: MemoryRegion): EfaMrAttr {
    return native.efaQueryMr(this.#domain, this.#memoryOf(region));
  }

  /**
   * The local key of a region: libfabric 2.3 and later, efa-direct.
   *
   * @throws FabricError FI_ENODATA if the region has no local key.
   */
  getMrLkey(region: MemoryRegion): bigint {
    return native.efaGetMrLkey(this.#domain, this.#memoryOf(region));
  }

  /**
   * The device's address of an endpoint's peer: libfabric 2.2 and later, from 2.3 on efa-direct.
   *
   * @throws FabricError FI_EADDRNOTAVAIL if the provider has no address for the peer.
   */
  queryAddr(endpoint: EndpointBase, peer: Peer): EfaAddr {
    const handle = this.#endpointOf(endpoint);
    if (!Peer.is(peer)) throw notAPeer('peer', peer);
    if (peer.vector !== endpoint.av.identity) {
      throw invalidArgValue('peer', 'belongs to another address vector');
    }
    if (peer.removed) throw invalidArgValue('peer', 'was removed from its address vector');
    return native.efaQueryAddr(this.#domain, handle, peer.handle);
  }

  /**
   * The work queues of an endpoint's queue pair: libfabric 2.2 and later, from 2.3 on efa-direct.
   *
   * @throws FabricError FI_ENOSYS, FI_EOPNOTSUPP: see {@link EfaQueries}. TypeError. Error
   * ERR_CLOSED.
   */
  queryQpWqs(endpoint: EndpointBase): EfaQpWqs {
    return native.efaQueryQpWqs(this.#domain, this.#endpointOf(endpoint));
  }

  /**
   * A completion queue's memory: libfabric 2.2 and later, from 2.3 on efa-direct.
   *
   * @throws FabricError FI_ENOSYS, FI_EOPNOTSUPP: see {@link EfaQueries}. TypeError. Error
   * ERR_CLOSED.
   */
  queryCq(cq: CompletionQueue): EfaCqAttr {
    if (!CompletionQueue.is(cq)) throw invalidArgType('cq', 'a CompletionQueue', cq);
    return native.efaQueryCq(this.#domain, cq.bound.handle);
  }

  /**
   * Whether the provider has a feature that its version does not imply: libfabric 2.6 and later.
   *
   * @throws FabricError FI_ENOSYS: see {@link EfaQueries}. Error ERR_CLOSED.
   */
  query(feature: EfaFeature): boolean {
    return native.efaQueryFeature(this.#domain, checkString('feature', feature));
  }

  get #domain() {
    if (!this.#engine.open) throw closed('the domain');
    return this.#engine.handle;
  }

  #memoryOf(region: MemoryRegion): number {
    if (!MemoryRegion.is(region)) throw invalidArgType('region', 'a MemoryRegion', region);
    if (region.memory !== this.#engine.memory) {
      throw invalidArgValue('region', 'belongs to another domain');
    }
    if (region.closed) throw closed('the memory region');
    return region.memoryHandle;
  }

  #endpointOf(endpoint: EndpointBase) {
    if (!EndpointBase.is(endpoint)) throw invalidArgType('endpoint', 'an Endpoint', endpoint);
    return endpoint.handle;
  }
}
