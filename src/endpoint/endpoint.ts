import type { AddressVector } from '../address-vector.js';
import { publishClose, publishOpen, publishParked } from '../base/channels.js';
import { checkNames } from '../base/checks.js';
import { uncloneable } from '../base/describe.js';
import { closed, invalidArgValue, invalidThis } from '../base/errors.js';
import type { AtomicOp, Datatype } from '../base/flags.js';
import { bytesOf, isBufferView } from '../base/views.js';
import type { CompletionQueue } from '../completion-queue.js';
import type { AnyInfo } from '../contract/info-types.js';
import { type Handle, native } from '../contract/native.js';
import type { Counter } from '../counter.js';
import type { BoundHandle } from '../engine/bound-handle.js';
import type { Completion } from '../engine/completion.js';
import type { Engine } from '../engine/engine.js';
import type { Buffers } from '../engine/memory.js';
import { Kind } from '../engine/requests.js';
import { unlessStuck } from '../engine/unresponsive.js';
import { infoHandle } from '../info/info.js';
import { type AtomicKind, AtomicQueries } from './atomic.js';
import type { BatchBase } from './batch.js';
import { type CheckedCloseOptions, type CloseOptions, checkCloseOptions } from './close-options.js';
import { decodeOption, encodeOption, type WritableOptions } from './endpoint-option-values.js';
import type { OptionValue, ReadableOption } from './endpoint-options.js';
import { Messages } from './messages.js';
import {
  checkMessagesOptions,
  checkMultiRecvOptions,
  type MessagesOptions,
  type MultiRecvOptions,
} from './messages-options.js';
import { MultiRecv } from './multi-recv.js';
import { checkEndpointOptions, type EndpointOptions } from './opening-options.js';
import { checkDirections, type Direction, type QueuedCalls } from './queued.js';
import type { CheckedOptions, Limits } from './target.js';

const UNCLONEABLE = uncloneable(
  'an Endpoint belongs to its thread: send endpoint.address, for av.insert(), and open another endpoint there',
);

/** The methods that every endpoint has: fi_endpoint(3). domain.ts declares its member `domain`. */
export class EndpointBase {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  readonly info: AnyInfo;
  readonly av: AddressVector;
  readonly sendQueue: CompletionQueue;
  readonly receiveQueue: CompletionQueue;
  /** The endpoint's address, for its peers: fi_getname. */
  readonly address: Uint8Array;
  /** @internal */
  readonly limits: Limits;
  /** @internal */
  readonly sink: Engine['submissions'];
  /** @internal */
  readonly atomicQueries: AtomicQueries;
  readonly #engine: Engine;
  readonly #handle: Handle<'Endpoint'>;
  readonly #uses: readonly { readonly bound: BoundHandle<string> }[];
  #counters: Readonly<Record<string, Counter>> = {};
  readonly #selective: readonly Direction[];
  #queued: QueuedCalls | undefined;
  #owned: { close(): Promise<void> } | undefined;
  #ending: Promise<void> | undefined;
  #keepsLoop = true;

  /** @internal */
  constructor(
    domain: EndpointBase['domain'],
    engine: Engine,
    info: AnyInfo,
    options: EndpointOptions,
  ) {
    const checked = checkEndpointOptions(options);
    this.#selective = checkDirections(
      'options.selectiveCompletion',
      options.selectiveCompletion ?? [],
    );
    const opened = native.endpointOpen(engine.handle, infoHandle(info), checked.native);
    this.info = info;
    Object.assign(this, { domain });
    this.av = checked.av;
    this.sendQueue = checked.sendQueue;
    this.receiveQueue = checked.receiveQueue;
    this.address = opened.address;
    this.sink = engine.submissions;
    this.#engine = engine;
    this.#handle = opened.handle;
    this.atomicQueries = new AtomicQueries(opened.handle);
    const sendSegments = Math.min(info.txAttr.iovLimit, MAX_SEGMENTS);
    this.limits = {
      engine,
      handle: opened.endpoint,
      vector: checked.av.identity,
      maxMsgSize: Number(info.epAttr.maxMsgSize),
      injectSize: Math.min(info.txAttr.injectSize, MAX_INJECT),
      sendSegments,
      // libfabric's efa copies several buffers into one. A work request of the device takes one for RDMA.
      rmaSegments: info.fabricAttr.name === 'efa-direct' ? 1 : sendSegments,
      receiveSegments: opened.receiveSegments,
      remoteSegments: Math.min(info.txAttr.rmaIovLimit, MAX_SEGMENTS),
      remoteData: opened.remoteData,
      peeks: opened.peeks,
      directedReceive: info.caps.includes('FI_DIRECTED_RECV'),
      ownFlags: opened.ownFlags,
      timeout: checked.timeout,
      isClosed: false,
    };
    this.#uses = [this.av, this.sendQueue, this.receiveQueue, ...checked.counters];
    for (const used of this.#uses) used.bound.users.add(this.limits);
    publishOpen('endpoint', this);
  }

  /** @internal */
  static is(value: unknown): value is EndpointBase {
    return typeof value === 'object' && value !== null && #handle in value;
  }

  /** @internal */
  get handle(): Handle<'Endpoint'> {
    this.#checkOpen();
    return this.#handle;
  }

  /**
   * The most bytes of a message or an RMA operation: `info.epAttr.maxMsgSize`. Infinity if the
   * provider has no limit.
   */
  get maxMsgSize(): number {
    const { maxMsgSize } = this.limits;
    return maxMsgSize > Number.MAX_SAFE_INTEGER ? Number.POSITIVE_INFINITY : maxMsgSize;
  }

  /** Whether the endpoint, its domain, or an object that it is bound to is closed. */
  get closed(): boolean {
    return this.limits.isClosed || !this.#engine.open;
  }

  /** @internal */
  get keepsLoop(): boolean {
    return this.#keepsLoop;
  }

  /**
   * Lets the process exit although operations of the endpoint have not settled, as `socket.unref()`
   * of node:net does. They continue while something else keeps the process alive.
   *
   * An endpoint keeps the event loop alive while operations, batches, streams and calls of its
   * completion queues, counters and address vector wait: everything of its domain. If a domain has
   * several endpoints, unref() takes effect when it was called on all of them. close() waits for
   * operations also after unref(). With the manual driver, only timeouts keep the event loop alive.
   */
  unref(): this {
    return this.#keepLoop(false);
  }

  /** Lets the endpoint keep the event loop alive again, after unref(). */
  ref(): this {
    return this.#keepLoop(true);
  }

  #keepLoop(on: boolean): this {
    if (this.#keepsLoop === on || this.#ending !== undefined) return this;
    this.#keepsLoop = on;
    this.domain.keepLoop();
    return this;
  }

  /** @internal */
  begin(kind: Kind, owner: unknown, options?: CheckedOptions): number {
    if (options !== undefined) checkNames('options', options.given, options.names);
    return this.#engine.begin(kind, owner);
  }

  /** @internal */
  withdraw(request: number): void {
    this.#engine.abandon(request);
  }

  /** @internal */
  finish(request: number, options: CheckedOptions | undefined): Promise<unknown> {
    const promise = this.#engine.requests.promise(request);
    if (options !== undefined) this.#engine.limit(request, promise, options);
    return promise;
  }

  /** @internal */
  refuse(error: unknown): Promise<never> {
    return Promise.reject(#engine in this ? error : invalidThis('an Endpoint'));
  }

  /** The counters requested in open(), by name. */
  get counters(): Readonly<Record<string, Counter>> {
    return this.#counters;
  }

  /** @internal */
  names(counters: readonly { readonly name: string; readonly counter: Counter }[]): void {
    const named = counters.map(({ name, counter }) => [name, counter] as const);
    this.#counters = Object.freeze(Object.fromEntries(named));
  }

  /** @internal Closes this with the endpoint. */
  owns(owned: { close(): Promise<void> }): void {
    this.#owned = owned;
  }

  /** @internal */
  makeBatch(Class: typeof BatchBase): BatchBase {
    this.#checkOpen();
    return new Class(this.limits, this.atomicQueries);
  }

  /** @internal */
  makeQueued(Class: typeof QueuedCalls): QueuedCalls {
    this.#queued ??= new Class(
      this.limits,
      this.atomicQueries,
      this.sendQueue,
      this.receiveQueue,
      this.#selective,
    );
    return this.#queued;
  }

  /** @internal */
  receiveMessages(options?: MessagesOptions): Messages {
    this.#checkOpen();
    const checked = checkMessagesOptions(options);
    return new Messages(this, { ...checked, wait: this.#engine.holding(checked.wait) });
  }

  /** @internal */
  postMultiRecv(buffer: Buffers, options?: MultiRecvOptions): MultiRecv {
    this.#checkOpen();
    const checked = checkMultiRecvOptions(options);
    const location = this.#engine.memory.locate(buffer);
    if (location.length === 0) throw invalidArgValue('buffer', 'is empty');
    const wait = this.#engine.holding(checked.wait);
    return new MultiRecv(this, allBytesOf(buffer), location, { ...checked, wait });
  }

  /** @internal */
  atomicLimit(kind: AtomicKind, datatype: Datatype, op: AtomicOp): number {
    this.#checkOpen();
    return this.atomicQueries.query(kind, datatype, op).count;
  }

  /**
   * Reads an option: fi_getopt.
   *
   * @throws FabricError FI_ENOPROTOOPT if the provider does not know the option.
   * @throws TypeError ERR_INVALID_ARG_VALUE for an unknown or write-only option. Error ERR_CLOSED.
   */
  getOption<N extends ReadableOption>(name: N): OptionValue<N> {
    this.#checkOpen();
    return decodeOption(name, (level, number, size) =>
      native.endpointGetOption(this.#handle, level, number, size),
    ) as OptionValue<N>;
  }

  /**
   * Sets an option: fi_setopt. Most options must be set before the endpoint is enabled: see
   * EndpointOptions.
   *
   * @throws FabricError FI_ENOPROTOOPT if the provider does not know the option, or another code of
   * fi_setopt(3), such as FI_EINVAL.
   * @throws TypeError ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE, RangeError ERR_OUT_OF_RANGE.
   * Error ERR_CLOSED.
   */
  setOption<N extends keyof WritableOptions>(
    name: N,
    value: NonNullable<WritableOptions[N]>,
  ): void {
    this.#checkOpen();
    native.endpointSetOption(this.#handle, [encodeOption(name, value)]);
  }

  /**
   * Closes the endpoint. New operations fail at once. Waiting operations and posted receives are
   * cancelled. Posted sends and RMA operations have `timeout` to complete. Resolves when every
   * operation is settled and its memory is free, except for operations that the provider has not
   * finished. Their memory stays in use until they end (`released()`), and `libfabric:parked`
   * reports them.
   *
   * @throws FabricError FI_ETIMEDOUT if the driver's thread is in a provider call that does not
   * return.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    const checked = checkCloseOptions(options);
    try {
      await this.end(checked);
    } finally {
      await this.#owned?.close();
    }
  }

  /** @internal Closes the endpoint without the domain that it owns, which may be the caller. */
  end(options: CheckedCloseOptions): Promise<void> {
    this.ref(); // close() takes no longer than its timeout
    this.#ending ??= this.#end(options);
    return this.#ending;
  }

  async #end(options: CheckedCloseOptions): Promise<void> {
    try {
      if (!this.closed) await this.#settle(options);
    } finally {
      for (const used of this.#uses) used.bound.users.delete(this.limits);
      this.domain.forget(this);
      publishClose('endpoint', this);
    }
  }

  async #settle({ timeout, signal }: CheckedCloseOptions): Promise<void> {
    this.limits.isClosed = true;
    const engine = this.#engine;
    const request = engine.begin(Kind.Completion, this);
    const promise = engine.requests.promise<Completion>(request);
    engine.controls.closeEndpoint(request, this.limits.handle, timeout);
    engine.limit(request, promise, { signal, timeout: undefined });
    const { length: operations } = await unlessStuck(engine, engine.settled(promise));
    if (operations > 0) publishParked({ type: 'endpoint', object: this, operations });
  }

  /** Closes the endpoint: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.closed) throw closed('the endpoint');
  }
}

// An operation has at most 255 additional blocks of 64 bytes, and the engine accepts 32 segments.
const MAX_INJECT = 255 * 64;
const MAX_SEGMENTS = 32;

function allBytesOf(buffer: Buffers): Uint8Array {
  if (isBufferView(buffer)) return bytesOf(buffer);
  if ('bytes' in buffer) return buffer.bytes as Uint8Array;
  return new Uint8Array(buffer as ArrayBufferLike);
}
