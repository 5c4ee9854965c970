import { oneOf } from '../base/checks.js';
import { uncloneable } from '../base/describe.js';
import { invalidArgType, invalidArgValue, invalidThis } from '../base/errors.js';
import { isArray } from '../base/objects.js';
import type { CompletionQueue } from '../completion-queue.js';
import { hasFlag } from '../contract/flag-bits.js';
import type { Engine } from '../engine/engine.js';
import { errorOf } from '../engine/failure.js';
import { Kind, type RequestOwner } from '../engine/requests.js';
import type { Sink } from '../engine/submissions.js';
import type { AtomicQueries } from './atomic.js';
import {
  type CheckedOptions,
  checkIdleNames,
  INJECTED,
  type Limits,
  refuseWait,
} from './target.js';

const UNCLONEABLE = uncloneable(
  'endpoint.post belongs to its endpoint: send endpoint.address, and open another endpoint there',
);

/** A direction of an endpoint, as fi_ep_bind(3) names it. */
export type Direction = 'FI_TRANSMIT' | 'FI_RECV';

const DIRECTIONS: readonly Direction[] = ['FI_TRANSMIT', 'FI_RECV'];

/** @internal */
export function checkDirections(name: string, value: unknown): readonly Direction[] {
  if (!isArray(value)) throw invalidArgType(name, 'an array', value);
  return Array.from(value, (each, i) => oneOf(`${name}[${i}]`, each, DIRECTIONS));
}

/**
 * The calls of an endpoint in the style of C. They return nothing. The completion, with the context
 * of the call, is read from the completion queue. As in C, an inject has no completion, unless it
 * fails.
 *
 * Each call throws TypeError, RangeError or Error ERR_CLOSED as the same call of the endpoint
 * rejects with them. The error of a posted operation is in its queue entry.
 */
export class QueuedCalls {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /** @internal */
  readonly limits: Limits;
  /** @internal */
  readonly sink: Sink;
  /** @internal */
  readonly atomicQueries: AtomicQueries;
  readonly #engine: Engine;
  readonly #sendQueue: CompletionQueue;
  readonly #receiveQueue: CompletionQueue;
  readonly #selective: readonly Direction[];
  #posted = 0;

  /** @internal */
  constructor(
    limits: Limits,
    atomicQueries: AtomicQueries,
    sendQueue: CompletionQueue,
    receiveQueue: CompletionQueue,
    selective: readonly Direction[],
  ) {
    this.limits = limits;
    this.sink = limits.engine.submissions;
    this.atomicQueries = atomicQueries;
    this.#engine = limits.engine;
    this.#sendQueue = sendQueue;
    this.#receiveQueue = receiveQueue;
    this.#selective = selective;
  }

  /**
   * Cancels the oldest operation in flight with this context: fi_cancel of fi_endpoint(3). Its entry
   * then has the error FI_ECANCELED. An operation that has completed meanwhile, or cannot be
   * cancelled because it is posted (sends, RMA, atomics), completes as if this call had not been.
   *
   * @returns whether there was one, as FI_ENOENT of fi_cancel tells.
   */
  cancel(context: unknown): boolean {
    if (!(#engine in this)) throw invalidThis('the post of an endpoint');
    const { requests } = this.#engine;
    let oldest: { request: number; place: number } | undefined;
    for (const request of requests.active()) {
      const owner = requests.owner(request);
      if (!(owner instanceof QueuedRequest) || !owner.is(this, context)) continue;
      const { place } = owner;
      if (oldest === undefined || place < oldest.place) oldest = { request, place };
    }
    if (oldest !== undefined) this.#engine.cancel(oldest.request);
    return oldest !== undefined;
  }

  /** @internal */
  begin(kind: Kind, owner: unknown, options: CheckedOptions | undefined): number {
    refuseWait(options, 'needs a promise: use the call of the endpoint, or post.cancel(context)');
    if (options !== undefined) checkIdleNames(options);
    if (kind === Kind.Claim) {
      throw invalidArgValue('options.flags', 'with FI_CLAIM need a promise: use endpoint.trecv()');
    }
    const engine = this.#engine;
    const sends = kind === Kind.Void;
    const queue = sends ? this.#sendQueue : this.#receiveQueue;
    const silent =
      owner === INJECTED || (this.#selective.length > 0 && this.#silences(sends, options));
    return engine.begin(
      Kind.Owner,
      new QueuedRequest(this, this.#posted++, queue, owner, options?.context, silent),
    );
  }

  #silences(sends: boolean, options: CheckedOptions | undefined): boolean {
    if (!this.#selective.includes(sends ? 'FI_TRANSMIT' : 'FI_RECV')) return false;
    return options === undefined || !hasFlag(options.flags, 'FI_COMPLETION');
  }

  /** @internal */
  withdraw(request: number): void {
    this.#engine.abandon(request);
  }

  /** @internal */
  finish(): void {}

  /** @internal */
  refuse(error: unknown): never {
    throw #engine in this ? error : invalidThis('the post of an endpoint');
  }
}

class QueuedRequest implements RequestOwner {
  readonly context: unknown;
  /** Its number among the calls. */
  readonly place: number;
  readonly #calls: QueuedCalls;
  readonly #queue: CompletionQueue;
  /** The objects that the operation uses. */
  readonly owner: unknown;
  /** Whether a success adds no entry to the queue. */
  readonly #silent: boolean;

  constructor(
    calls: QueuedCalls,
    place: number,
    queue: CompletionQueue,
    owner: unknown,
    context: unknown,
    silent: boolean,
  ) {
    this.context = context;
    this.place = place;
    this.#calls = calls;
    this.#queue = queue;
    this.owner = owner;
    this.#silent = silent;
  }

  /** Whether it is one of these calls, with this context. */
  is(calls: QueuedCalls, context: unknown): boolean {
    return this.#calls === calls && this.context === context;
  }

  completed(_request: number, status: number, word: number): void {
    const { context } = this;
    const { completions } = this.#calls.limits.engine;
    if (status === 0 && this.#silent) return;
    if (status === 0) this.#queue.push({ context, completion: completions.at(word) });
    else this.#queue.push({ context, error: errorOf(completions.failureAt(word)) });
  }

  lost(): void {} // the queue is closed
}
