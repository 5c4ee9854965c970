import { AddressVector, type AddressVectorOptions } from './address-vector.js';
import { cancellable } from './base/cancellation.js';
import { publishClose, publishOpen, publishParked } from './base/channels.js';
import { checkInteger, checkMilliseconds, checkObject } from './base/checks.js';
import { uncloneable } from './base/describe.js';
import { closed, invalidArgType, invalidArgValue, invalidState } from './base/errors.js';
import type { Cap, EpType, MrAccess } from './base/flags.js';
import { isInstance } from './base/objects.js';
import { CompletionQueue, type CompletionQueueOptions } from './completion-queue.js';
import type { AnyInfo, Info } from './contract/info-types.js';
import { type Handle, native } from './contract/native.js';
import { Counter, type CounterOptions } from './counter.js';
import { checkDomainOptions, type DomainOptions } from './domain-options.js';
import { EfaQueries } from './efa/queries.js';
import {
  type CheckedCloseOptions,
  type CloseOptions,
  checkCloseOptions,
} from './endpoint/close-options.js';
import { type Endpoint, endpointClassOf } from './endpoint/compose.js';
import { withTimeout } from './endpoint/default-timeout.js';
import type { EndpointBase } from './endpoint/endpoint.js';
import type { EndpointOptions } from './endpoint/opening-options.js';
import { type DriverKind, Engine, type Stats } from './engine/engine.js';
import { returnFreedMemory } from './engine/freed-memory.js';
import { stop } from './engine/unresponsive.js';
import { infoHandle } from './info/info.js';
import { checkEntry, type Openable } from './info/openable.js';
import type { DeviceMemory } from './memory/device-memory.js';
import type { MemoryRegion } from './memory/memory-region.js';
import {
  type AllocateOptions,
  allocate,
  type RegisterOptions,
  register,
} from './memory/registration.js';
import { describedRegion, type RegionDescription, RemoteRegion } from './memory/remote-region.js';

declare module './endpoint/endpoint.js' {
  interface EndpointBase {
    readonly domain: Domain;
  }
}

const UNCLONEABLE = uncloneable('a Domain belongs to its thread: open another one there');

const collected = new FinalizationRegistry<Engine>((engine) => {
  if (!engine.open) return;
  process.emitWarning(
    'A Domain was garbage collected before close(). Its memory stays registered and is not freed.',
    'LibfabricWarning',
  );
});

/**
 * A domain: one NIC, one engine, and everything that belongs to it (fi_domain(3)).
 *
 * If the provider does not return from closing an endpoint, the domain becomes unusable: later calls
 * fail with FabricError FI_EOTHER. Close the domain and open another one.
 */
export class Domain {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  readonly info: AnyInfo;
  readonly driver: DriverKind;
  readonly #engine: Engine;
  readonly #endpoints = new Set<EndpointBase>();
  readonly #onClose: () => void;
  #keepsLoop = true;
  #efa: EfaQueries | undefined;
  #owned: { readonly closed: boolean; close(): Promise<void> } | undefined;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(
    fabric: Handle<'Fabric'>,
    info: AnyInfo,
    given: DomainOptions | undefined,
    onClose: () => void,
  ) {
    const { threadOf, ...options } = checkDomainOptions(given);
    const { driver } = options;
    const checked = { ...options, threadOf: Domain.#threadOf(threadOf, driver) };
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

  // The domain whose thread a new one is to use.
  static #threadOf(other: unknown, driver: DriverKind): Handle<'Domain'> | undefined {
    if (other === undefined) return undefined;
    if (!isInstance(other, Domain)) throw invalidArgType('options.threadOf', 'a Domain', other);
    other.#checkOpen();
    if (driver === 'thread' && other.driver === 'thread') return other.#engine.handle;
    throw invalidState("options.threadOf: both domains need driver: 'thread'");
  }

  /** Whether the domain is closed. */
  get closed(): boolean {
    return this.#closing !== undefined || !this.#engine.open;
  }

  /**
   * Opens an address vector: fi_av_open.
   *
   * @throws FabricError with the code of fi_av_open(3). Error ERR_CLOSED if the domain is closed.
   */
  addressVector(options?: AddressVectorOptions): AddressVector {
    this.#checkOpen();
    return new AddressVector(this.#engine, this.info.addrFormat, options);
  }

  /**
   * Opens a completion queue: fi_cq_open.
   *
   * @throws FabricError with the code of fi_cq_open(3): FI_ENOMEM, or FI_ENOSYS for a format that
   * the provider does not support. Error ERR_CLOSED if the domain is closed.
   */
  completionQueue(options?: CompletionQueueOptions): CompletionQueue {
    this.#checkOpen();
    return new CompletionQueue(this.#engine, options);
  }

  /**
   * Queries that only the efa provider supports. Undefined if the domain belongs to another
   * provider.
   *
   * @throws Error ERR_CLOSED if the domain is closed.
   */
  get efa(): EfaQueries | undefined {
    this.#checkOpen();
    if (this.info.fabricAttr.provName !== 'efa') return undefined;
    this.#efa ??= new EfaQueries(this.#engine);
    return this.#efa;
  }

  /**
   * Opens a counter: fi_cntr_open. The engine waits for it, so it needs no wait object.
   *
   * @throws FabricError FI_ENOSYS if the provider has no counters, or does not count these events.
   * @throws Error ERR_CLOSED if the domain is closed.
   */
  counter(options?: CounterOptions): Counter {
    this.#checkOpen();
    return new Counter(this.#engine, options);
  }

  /**
   * Opens an endpoint, binds it, sets its options and enables it: fi_endpoint. The endpoint has the
   * calls of the capabilities that were requested for its entry.
   *
   * @throws FabricError with the code of fi_endpoint(3): FI_ENOPROTOOPT for an option that the
   * provider does not have, FI_EADDRINUSE if the local address is in use, FI_ENOMEM.
   * @throws Error ERR_CLOSED if the domain or one of the objects in the options is closed.
   * @throws TypeError ERR_INVALID_ARG_VALUE if the entry belongs to another domain.
   */
  endpoint<T extends EpType, C extends Cap>(
    info: Info<T, C> & Openable<T>,
    options: EndpointOptions,
  ): Endpoint<T, C> {
    this.#checkOpen();
    infoHandle(info as AnyInfo);
    if (options === undefined) throw invalidArgType('options', 'an object', options);
    checkObject('options', options);
    checkEntry(info as AnyInfo);
    const { fabricAttr, domainAttr } = this.info;
    if (
      info.fabricAttr.name !== fabricAttr.name ||
      info.fabricAttr.provName !== fabricAttr.provName ||
      info.domainAttr.name !== domainAttr.name
    ) {
      throw invalidArgValue('info', 'belongs to another domain');
    }
    const Untimed = endpointClassOf(info as AnyInfo);
    const Class = options.timeout === undefined ? Untimed : withTimeout(Untimed);
    const endpoint = new Class(this, this.#engine, info as AnyInfo, options);
    this.#endpoints.add(endpoint);
    this.keepLoop();
    return endpoint as Endpoint<T, C>;
  }

  /**
   * Registers the caller's memory off the event loop: fi_mr_reg. The region gets exactly the rights
   * in `access`. FI_REMOTE_READ and FI_REMOTE_WRITE give peers access to it.
   *
   * Memory of a GPU or another device is registered by fi_mr_regattr: see {@link DeviceMemory}.
   *
   * @throws FabricError with the code of fi_mr_reg(3): FI_ENOMEM, FI_EOPNOTSUPP, FI_EFAULT; for
   * device memory also FI_ENOSYS, FI_EBADF or FI_EINVAL; FI_ETIMEDOUT after `options.timeout`.
   * @throws AbortError, or the signal's reason. Error ERR_CLOSED if the domain is closed, before the call or during it.
   */
  register(
    buffer: ArrayBufferView | ArrayBufferLike | DeviceMemory,
    access: readonly MrAccess[],
    options: RegisterOptions = {},
  ): Promise<MemoryRegion> {
    return cancellable(async () => {
      this.#checkOpen();
      return register(this.#engine, buffer, access, options);
    });
  }

  /**
   * Allocates page-aligned memory and registers it, off the event loop.
   *
   * @throws FabricError as register() does; FI_ENOMEM if there is not enough memory.
   * @throws RangeError ERR_OUT_OF_RANGE for more than `buffer.constants.MAX_LENGTH` bytes: 4 GiB with
   * Node.js 20.
   * @throws AbortError, or the signal's reason. Error ERR_CLOSED if the domain is closed, before the call or during it.
   */
  allocate(
    length: number,
    access: readonly MrAccess[],
    options: AllocateOptions = {},
  ): Promise<MemoryRegion> {
    return cancellable(async () => {
      this.#checkOpen();
      return allocate(this.#engine, length, access, options);
    });
  }

  /**
   * A peer's memory region. Takes the descriptor that the peer sent, or its key, address and length
   * if the peer does not use this package.
   *
   * @throws FabricError FI_ENOMEM if the domain has too many remote regions.
   * @throws TypeError ERR_INVALID_ARG_VALUE for a malformed descriptor. Error ERR_CLOSED if the
   * domain is closed.
   */
  remote(descriptor: ArrayBufferView | ArrayBuffer | RegionDescription): RemoteRegion {
    this.#checkOpen();
    return new RemoteRegion(this.#engine, describedRegion(descriptor));
  }

  /**
   * Manual driver: turns the engine once. It posts the submitted operations and delivers
   * completions.
   *
   * @throws Error ERR_INVALID_STATE with another driver. ERR_CLOSED if the domain is closed.
   */
  progress(): void {
    this.#checkManual();
    this.#engine.turn();
  }

  /**
   * Manual driver: turns the engine in one native call until `count` more completions have arrived
   * or the timeout is over.
   *
   * @param timeout milliseconds.
   * @throws Error ERR_INVALID_STATE with another driver. ERR_CLOSED if the domain is closed.
   */
  wait(count: number, timeout: number): void {
    this.#checkManual();
    checkInteger('count', count, 0);
    checkMilliseconds('timeout', timeout);
    this.#engine.wait(count, timeout);
  }

  /**
   * Awaits the promise of an operation. With the manual driver, it turns the engine and lets the
   * event loop run until the promise has settled or the domain is closed. With the other drivers,
   * it only awaits.
   *
   * @throws whatever the promise rejects with.
   */
  until<V>(promise: Promise<V>): Promise<V> {
    if (!isInstance(promise, Promise))
      return Promise.reject(invalidArgType('promise', 'a Promise', promise));
    return this.#engine.settled(promise);
  }

  /** The counters of the engine. Reading them does not stop the engine. */
  stats(): Stats {
    return this.#engine.stats();
  }

  /**
   * Closes the domain: its endpoints, as endpoint.close() does, then everything else in it. An
   * object that the provider refuses to free stays until the process ends. `libfabric:parked` and
   * dumpState() report it.
   *
   * @throws FabricError FI_ETIMEDOUT if the driver's thread is in a provider call that does not
   * return within ten seconds, or longer while memory is being registered. Then the domain and
   * everything in it are leaked, and its promises reject. Another domain can be opened.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    const checked = checkCloseOptions(options);
    this.#closing ??= this.#close(checked);
    return this.#closing;
  }

  async #close(options: CheckedCloseOptions): Promise<void> {
    try {
      if (!this.#engine.open) return;
      const ends = [...this.#endpoints].map((endpoint) => endpoint.end(options));
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
      // A fabric that is closing already waits for this domain.
      if (this.#owned?.closed === false) await this.#owned.close();
    }
  }

  /** Closes the domain: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal Closes this with the domain. */
  owns(owned: { readonly closed: boolean; close(): Promise<void> }): void {
    this.#owned = owned;
  }

  /** @internal */
  forget(endpoint: EndpointBase): void {
    this.#endpoints.delete(endpoint);
    returnFreedMemory();
    this.keepLoop();
  }

  /** @internal The event loop stays alive for the endpoints that are not unref()ed, and without any. */
  keepLoop(): void {
    const endpoints = [...this.#endpoints];
    const on = endpoints.length === 0 || endpoints.some(({ keepsLoop }) => keepsLoop);
    if (on === this.#keepsLoop) return;
    this.#keepsLoop = on;
    this.#engine.keepLoop(on);
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
