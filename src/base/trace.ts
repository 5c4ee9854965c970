import { AsyncResource } from 'node:async_hooks';
import type { TracingChannel } from 'node:diagnostics_channel';

/** The events of a tracingChannel(). */
export type TraceEvent = 'start' | 'end' | 'asyncStart' | 'asyncEnd' | 'error';

/** The message of all events of a call. */
export interface TraceMessage<Result> {
  /** What the promise of the call resolves with. */
  readonly result?: Result;
  /** What it rejects with. */
  readonly error?: unknown;
}

/**
 * Publishes the events of one call and of its promise, all in the async context of the call, with the stores that are
 * bound to `start`.
 */
export class Trace<Result, Message extends TraceMessage<Result>> {
  // Twice the same type, because @types/node 26 has its two parameters in the other order.
  readonly #channel: TracingChannel<Message, Message>;
  readonly #message: Message;
  readonly #context: AsyncResource;
  #hasReturned = false;
  #isSettled = false;

  /** The call begins. */
  constructor(channel: TracingChannel<Message, Message>, message: Message) {
    this.#channel = channel;
    this.#message = message;
    this.#context = channel.start.runStores(message, () => new AsyncResource('LIBFABRIC'));
  }

  /** The call returns. Publishes its end, and after it that of a promise that has already settled. */
  returned(): void {
    this.#hasReturned = true;
    this.#context.runInAsyncScope(() => this.#channel.end.publish(this.#message));
    if (this.#isSettled) this.#publish();
  }

  /** The promise resolves. */
  succeeded(result: Result): void {
    this.#settled({ result });
  }

  /** The promise rejects. */
  failed(error: unknown): void {
    this.#settled({ error });
  }

  #settled(outcome: TraceMessage<Result>): void {
    Object.assign(this.#message, outcome);
    this.#isSettled = true;
    if (this.#hasReturned) this.#publish();
  }

  #publish(): void {
    const { asyncStart, asyncEnd, error } = this.#channel;
    const message = this.#message;
    this.#context.runInAsyncScope(() => {
      if ('error' in message) error.publish(message);
      asyncStart.runStores(message, () => asyncEnd.publish(message));
    });
  }
}
