import { AddressVector, type AddressVectorOptions } from './address-vector.js';
import { checkInteger, checkMilliseconds, checkOptions, oneOf } from './checks.js';
import { CompletionQueue, type CompletionQueueOptions } from './completion-queue.js';
import { Counter, type CounterOptions } from './counter.js';
import { publishClose, publishOpen, publishParked } from './diagnostics.js';
import { EfaQueries } from './efa-queries.js';
import { type Endpoint, endpointClassOf } from './endpoint/compose.js';
import type { EndpointBase, EndpointOptions } from './endpoint/endpoint.js';
import { type CloseOptions, checkPatience, type Patience } from './endpoint/patience.js';
import { type DriverKind, Engine, type Stats } from './engine/engine.js';
import { stop } from './engine/unresponsive.js';
import { closed, invalidArgType, invalidArgValue, invalidState } from './errors.js';
import type { Cap, EpType, MrAccess } from './flags.js';
import { infoHandle } from './info.js';
import type { AnyInfo, Info } from './info-types.js';
import type { MemoryRegion } from './memory-region.js';
import { type Handle, native } from './native.js';
import { checkEntry, type Openable } from './openable.js';
import { type AllocateOptions, allocate, register } from './registration.js';
import { describedRegion, type RegionDescription, RemoteRegion } from './remote-region.js';
import type { WaitOptions } from './wait-options.js';

/** How the engine of a domain is turned. */
export interface DomainOptions {
  /**
   * Who turns the engine: a native thread of the domain ('thread'), the event loop ('loop'), or the
   * caller with progress() and wait() ('manual').
   */
  readonly driver?: DriverKind;
  /** Cores that the driver's thread may run on. */
  readonly affinity?: readonly number[];
  /**
   * Microseconds that a driver goes on polling after the last work; 1000 when left out. It polls 20
   * times as long while sends, RMA or atomics are in flight.
   */
  readonly spin?: number;
  /**
   * Microseconds between the polls of an idle driver, where the provider has nothing to sleep on;
   * 1000 when left out. A thread that has had nothing to do 256 times polls half as often. The event
   * loop's clock has milliseconds.
   */
  readonly idle?: number;
}

const MAX_MICROSECONDS = 60_000_000;
const MAX_CORES = 1024;

const collected = new FinalizationRegistry<Engine>((engine) => {
  if (!engine.open) return;
  process.emitWarning(
    'A Domain was garbage collected before close(). Its memory stays registered and is not freed.',
    'LibfabricWarning',
  );
});

/** A domain: one NIC, one engine, and everything that belongs to it (fi_domain(3)). */
export class Domain {
  readonly info: AnyInfo;
  readonly driver: DriverKind;
  readonly #engine: Engine;
  readonly #endpoints = new Set<EndpointBase>();
  readonly #onClose: () => void;
  #efa: EfaQueries | undefined;
  #owned: { close(): Promise<void> } | undefined;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(
    fabric: Handle<'Fabric'>,
    info: AnyInfo,
    options: DomainOptions,
    onClose: () => void,
  ) {
    const driver = oneOf('options.driver', options.driver ?? 'thread', DRIVERS);
    const affinity = options.affinity ?? [];
    if (!Array.isArray(affinity) || affinity.length > MAX_CORES) {
      throw invalidArgType('options.affinity', 'an array of cores', affinity);
    }
    const checked = {
      driver,
      affinity: Array.from(affinity, (core, i) =>
        checkInteger(`options.affinity[${i}]`, core, 0, MAX_CORES - 1),
      ),
      spin: checkInteger('options.spin', options.spin ?? 1000, 0, MAX_MICROSECONDS),
      idle: checkInteger('options.idle', options.idle ?? 1000, 1, MAX_MICROSECONDS),
    };
    const entry = infoHandle(info);
    checkEntry(info);
    const { name, provName } = info.fabricAttr;
    const names = { fabric: name, domain: info.domainAttr.name, provider: provName };
    this.#engine = new Engine(
      (drain) => native.domainOpen(fabric, entry, checked, drain),
      driver,
      names,
    );
    this.info = info;
    this.driver = driver;
    this.#onClose = onClose;
    collected.register(this, this.#engine, this);
    publishOpen('domain', this);
  }

  /** Whether it is closed, or something that it belongs to is. */
  get closed(): boolean {
    return this.#closing !== undefined || !this.#engine.open;
  }

  /** Opens an address vector: fi_av_open. */
  addressVector(options?: AddressVectorOptions): AddressVector {
    this.#checkOpen();
    const checked = checkOptions('options', options);
    return new AddressVector(this.#engine, this.info.addrFormat, checked);
  }

  /** Opens a completion queue: fi_cq_open. */
  completionQueue(options?: CompletionQueueOptions): CompletionQueue {
    this.#checkOpen();
    return new CompletionQueue(this.#engine, checkOptions('options', options));
  }

  /**
   * What only the efa provider tells of its regions, addresses and queues; undefined where the domain
   * is of another provider.
   */
  get efa(): EfaQueries | undefined {
    this.#checkOpen();
    if (this.info.fabricAttr.provName !== 'efa') return undefined;
    this.#efa ??= new EfaQueries(this.#engine);
    return this.#efa;
  }

  /**
   * Opens a counter, where the provider has them: fi_cntr_open. The engine waits for it, so that it
   * needs no wait object.
   *
   * @throws FabricError FI_ENOSYS where the provider does not count what is asked for.
   */
  counter(options?: CounterOptions): Counter {
    this.#checkOpen();
    return new Counter(this.#engine, checkOptions('options', options));
  }

  /**
   * Opens an endpoint, binds it, sets its options and enables it: fi_endpoint. What it can do is
   * what its entry was asked for.
   */
  endpoint<T extends EpType, C extends Cap>(
    info: Info<T, C> & Openable<T>,
    options: EndpointOptions,
  ): Endpoint<T, C> {
    this.#checkOpen();
    infoHandle(info as AnyInfo);
    if (options === undefined) throw invalidArgType('options', 'an object', options);
    checkOptions('options', options);
    checkEntry(info as AnyInfo);
    const { fabricAttr, domainAttr } = this.info;
    if (
      info.fabricAttr.name !== fabricAttr.name ||
      info.fabricAttr.provName !== fabricAttr.provName ||
      info.domainAttr.name !== domainAttr.name
    ) {
      throw invalidArgValue('info', 'is of another domain');
    }
    const Class = endpointClassOf(info as AnyInfo);
    const endpoint = new Class(this, this.#engine, info as AnyInfo, options);
    this.#endpoints.add(endpoint);
    return endpoint as Endpoint<T, C>;
  }

  /**
   * Registers memory of the caller's (fi_mr_reg), off the event loop. The rights are those given and
   * no more: remote ones let peers in.
   */
  async register(
    buffer: ArrayBufferView | ArrayBufferLike,
    access: readonly MrAccess[],
    options: WaitOptions = {},
  ): Promise<MemoryRegion> {
    this.#checkOpen();
    return register(this.#engine, buffer, access, options);
  }

  /** Allocates page-aligned memory and registers it, off the event loop. */
  async allocate(
    length: number,
    access: readonly MrAccess[],
    options: AllocateOptions = {},
  ): Promise<MemoryRegion> {
    this.#checkOpen();
    return allocate(this.#engine, length, access, options);
  }

  /**
   * A peer's memory region, from the descriptor that the peer handed over, or from its key, address
   * and length where those came another way: from a peer that is not of this package.
   */
  remote(descriptor: ArrayBufferView | ArrayBuffer | RegionDescription): RemoteRegion {
    this.#checkOpen();
    return new RemoteRegion(this.#engine, describedRegion(descriptor));
  }

  /** Manual driver: one turn. Posts what was submitted and delivers what has completed. */
  progress(): void {
    this.#checkManual();
    this.#engine.turn();
  }

  /**
   * Manual driver: turns until `count` more completions have come or the time is over, in one native
   * call.
   *
   * @param timeout milliseconds.
   */
  wait(count: number, timeout: number): void {
    this.#checkManual();
    checkInteger('count', count, 0);
    checkMilliseconds('timeout', timeout);
    this.#engine.wait(count, timeout);
  }

  /**
   * Awaits a promise of an operation. With the manual driver it turns the engine, and lets the event loop
   * run, until the promise has settled or the domain is closed. With the other drivers it only awaits.
   */
  until<V>(promise: Promise<V>): Promise<V> {
    if (!(promise instanceof Promise)) throw invalidArgType('promise', 'a Promise', promise);
    return this.#engine.settled(promise);
  }

  /** What the engine has done so far; reading it stops nothing. */
  stats(): Stats {
    return this.#engine.stats();
  }

  /**
   * Closes the domain: its endpoints as endpoint.close() does, then everything else in it. What the
   * provider does not let go of stays until the process ends: `libfabric:parked` and dumpState() tell
   * of it.
   *
   * @throws FabricError FI_ETIMEDOUT where the driver's thread is in a call of the provider that does
   * not return, for ten seconds, and longer while memory is being registered. Then the domain is
   * leaked, with all that belongs to it, and its promises reject. Another one can be opened.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    const patience = checkPatience(options);
    this.#closing ??= this.#close(patience);
    return this.#closing;
  }

  async #close(patience: Patience): Promise<void> {
    try {
      if (!this.#engine.open) return;
      const ends = [...this.#endpoints].map((endpoint) => endpoint.end(patience));
      const [failed] = (await Promise.allSettled(ends)).filter(
        ({ status }) => status === 'rejected',
      );
      const queues = [...this.#engine.queues.values()];
      if (await stop(this.#engine)) await Promise.all(queues.map((queue) => queue.close()));
      const { endpoints, refused } = this.#engine.close();
      if (endpoints > 0 || refused !== null) {
        publishParked({ type: 'domain', object: this, endpoints, refused });
      }
      if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
    } finally {
      publishClose('domain', this);
      collected.unregister(this);
      this.#onClose();
      await this.#owned?.close();
    }
  }

  /** Closes it: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal Closes this with the domain. */
  owns(owned: { close(): Promise<void> }): void {
    this.#owned = owned;
  }

  /** @internal */
  forget(endpoint: EndpointBase): void {
    this.#endpoints.delete(endpoint);
  }

  #checkOpen(): void {
    if (this.closed) throw closed('the domain');
  }

  #checkManual(): void {
    this.#checkOpen();
    if (this.driver !== 'manual') {
      throw invalidState(`the ${this.driver} driver turns the engine; open with driver: 'manual'`);
    }
  }
}

const DRIVERS = ['thread', 'loop', 'manual'] as const;
