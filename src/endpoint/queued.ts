import type { CompletionQueue } from '../completion-queue.js';
import type { Engine } from '../engine/engine.js';
import { errorOf } from '../engine/failure.js';
import { Kind, type RequestOwner } from '../engine/requests.js';
import type { Sink } from '../engine/submissions.js';
import { invalidArgValue, invalidThis } from '../errors.js';
import type { AtomicQueries } from './atomic.js';
import { type Chosen, type Limits, refuseWait, type Target } from './target.js';

/**
 * The calls of an endpoint as C has them: they return nothing, and the completion, with the context
 * that the call was given, is read from the completion queue.
 */
export class QueuedCalls implements Target {
  readonly limits: Limits;
  readonly sink: Sink;
  /** @internal */
  readonly atomicQueries: AtomicQueries;
  readonly #engine: Engine;
  readonly #sendQueue: CompletionQueue;
  readonly #receiveQueue: CompletionQueue;

  /** @internal */
  constructor(
    limits: Limits,
    atomicQueries: AtomicQueries,
    sendQueue: CompletionQueue,
    receiveQueue: CompletionQueue,
  ) {
    this.limits = limits;
    this.sink = limits.engine.submissions;
    this.atomicQueries = atomicQueries;
    this.#engine = limits.engine;
    this.#sendQueue = sendQueue;
    this.#receiveQueue = receiveQueue;
  }

  /** @internal */
  begin(kind: Kind, owner: unknown, options: Chosen | undefined): number {
    refuseWait(options, 'needs a promise: use the call of the endpoint');
    if (kind === Kind.Claim) {
      throw invalidArgValue('options.flags', 'with FI_CLAIM need a promise: use endpoint.trecv()');
    }
    const engine = this.#engine;
    const queue = kind === Kind.Void ? this.#sendQueue : this.#receiveQueue;
    return engine.begin(Kind.Owner, new QueuedRequest(engine, queue, owner, options?.context));
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
  readonly #engine: Engine;
  readonly #queue: CompletionQueue;
  /** What the operation uses. */
  readonly owner: unknown;

  constructor(engine: Engine, queue: CompletionQueue, owner: unknown, context: unknown) {
    this.context = context;
    this.#engine = engine;
    this.#queue = queue;
    this.owner = owner;
  }

  completed(_request: number, status: number, word: number): void {
    const { context } = this;
    const { completions } = this.#engine;
    if (status === 0) this.#queue.push({ context, completion: completions.at(word) });
    else this.#queue.push({ context, error: errorOf(completions.failureAt(word)) });
  }
}
