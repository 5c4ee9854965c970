import { checkString } from './checks.js';
import { CompletionQueue } from './completion-queue.js';
import type { EfaAddr, EfaCqAttr, EfaFeature, EfaMrAttr, EfaQpWqs } from './efa-types.js';
import { EndpointBase } from './endpoint/endpoint.js';
import type { Engine } from './engine/engine.js';
import { closed, invalidArgType, invalidArgValue } from './errors.js';
import { MemoryRegion } from './memory-region.js';
import { native } from './native.js';
import { Peer } from './peer.js';

/**
 * What only the efa provider tells, by the operations that it offers through fi_open_ops(3): fi_efa(7).
 *
 * Each call is looked for in the library that is loaded when it is made.
 *
 * @throws FabricError FI_ENOSYS where this libfabric does not have the call, FI_EOPNOTSUPP where the
 * device does not have what it asks for, or the fabric is not efa-direct.
 */
export class EfaQueries {
  readonly #engine: Engine;

  /** @internal */
  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** The interconnects by which the device reaches a region: libfabric 1.22 and later. */
  queryMr(region: MemoryRegion): EfaMrAttr {
    return native.efaQueryMr(this.#domain, this.#memoryOf(region));
  }

  /** The local key of a region: libfabric 2.3 and later, efa-direct. */
  getMrLkey(region: MemoryRegion): bigint {
    return native.efaGetMrLkey(this.#domain, this.#memoryOf(region));
  }

  /** How the device knows a peer of an endpoint: libfabric 2.2 and later, from 2.3 on efa-direct. */
  queryAddr(endpoint: EndpointBase, peer: Peer): EfaAddr {
    const handle = this.#endpointOf(endpoint);
    if (!Peer.is(peer)) throw invalidArgType('peer', 'a Peer', peer);
    if (peer.vector !== endpoint.av.identity) {
      throw invalidArgValue('peer', 'is of another address vector');
    }
    if (peer.removed) throw invalidArgValue('peer', 'was removed from its address vector');
    return native.efaQueryAddr(this.#domain, handle, peer.handle);
  }

  /** The work queues of an endpoint's queue pair: libfabric 2.2 and later, from 2.3 on efa-direct. */
  queryQpWqs(endpoint: EndpointBase): EfaQpWqs {
    return native.efaQueryQpWqs(this.#domain, this.#endpointOf(endpoint));
  }

  /** A completion queue's memory: libfabric 2.2 and later, from 2.3 on efa-direct. */
  queryCq(cq: CompletionQueue): EfaCqAttr {
    if (!CompletionQueue.is(cq)) throw invalidArgType('cq', 'a CompletionQueue', cq);
    return native.efaQueryCq(this.#domain, cq.handle);
  }

  /** Whether the provider has a feature, which no version tells: libfabric 2.6 and later. */
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
      throw invalidArgValue('region', 'is of another domain');
    }
    if (region.closed) throw closed('the memory region');
    return region.memoryHandle;
  }

  #endpointOf(endpoint: EndpointBase) {
    if (!EndpointBase.is(endpoint)) throw invalidArgType('endpoint', 'an Endpoint', endpoint);
    return endpoint.handle;
  }
}
