import { type Failure, rejectLater } from './failure.js';

/** The effect of a completion on its request. */
export const enum Kind {
  /** Resolves with undefined. */
  Void = 0,
  /** Resolves with a Completion. */
  Completion = 1,
  /** Calls its owner. */
  Owner = 2,
  /** Resolves with a Completion that holds a claimed message. */
  Claim = 3,
  /** Is already settled. Its operation continues, so the request keeps the memory alive. */
  Detached = 4,
}

/** The owner of a request of kind {@link Kind.Owner}. */
export interface RequestOwner {
  /**
   * Called for a completion at u32 index `word` of the completion ring. `status` is 0 or an errno.
   */
  completed(request: number, status: number, word: number): void;
  /** Called if no completion follows, because the domain was closed while its engine was stuck. */
  lost(request: number, failure: Failure): void;
  /** Called if the operation could not be cancelled because it is posted. */
  cancelRefused?(request: number): void;
}

let capturedResolve: ((value: unknown) => void) | undefined;
// All promises share one executor: a closure for each promise would be the most expensive part of a
// send.
const capture = (resolve: (value: unknown) => void): void => {
  capturedResolve = resolve;
};

class Request {
  resolve: ((value: unknown) => void) | undefined;
  promise: Promise<unknown> | undefined;
  constructor(
    readonly kind: Kind,
    readonly owner: unknown,
  ) {
    this.resolve = undefined;
    this.promise = undefined;
  }
}

/**
 * The requests in flight, by number. A request holds all objects that its operation uses, and
 * releases them only when the engine has completed it.
 */
export class Requests {
  #free: number[] = [];
  #requests: (Request | undefined)[] = [];
  /** The number of requests that have not completed. */
  pending = 0;

  /** Allocates a number for an operation that uses `owner`. */
  begin(kind: Kind, owner: unknown): number {
    this.pending++;
    const number = this.#free.length > 0 ? (this.#free.pop() as number) : this.#requests.length;
    this.#requests[number] = new Request(kind, owner);
    return number;
  }

  /** Creates the promise of a new request. */
  promise<T>(number: number): Promise<T> {
    const promise = new Promise(capture) as Promise<T>;
    const request = this.#requests[number] as Request;
    request.resolve = capturedResolve;
    capturedResolve = undefined; // it would keep the promise, and the stores of its async context
    request.promise = promise;
    return promise;
  }

  kind(number: number): Kind {
    return (this.#requests[number] as Request).kind;
  }

  /** Whether it has an owner to call. */
  owned(number: number): boolean {
    return this.#requests[number]?.kind === Kind.Owner;
  }

  owner(number: number): unknown {
    return this.#requests[number]?.owner;
  }

  /** Whether it has a promise, settled or not. */
  promised(number: number): boolean {
    return this.#requests[number]?.promise !== undefined;
  }

  /** Whether its promise has not been settled. */
  awaited(number: number): boolean {
    return this.#requests[number]?.resolve !== undefined;
  }

  resolve(number: number, value?: unknown): void {
    const request = this.#requests[number] as Request;
    request.resolve?.(value);
    request.resolve = undefined;
  }

  /** Rejects the promise. The operation continues to use its memory. */
  reject(number: number, reason: unknown): void {
    if (this.awaited(number)) this.resolve(number, Promise.reject(reason));
  }

  /** Rejects the promise with the error of a failure. */
  fail(number: number, failure: Failure): void {
    const request = this.#requests[number];
    // Creates an error only if the promise is pending: an unhandled rejection would end the process.
    if (request?.resolve === undefined) return;
    this.resolve(number, rejectLater(failure, request.promise as Promise<unknown>));
  }

  /** The numbers of all requests that have not completed. */
  active(): number[] {
    return [...this.#requests.keys()].filter((number) => this.#requests[number] !== undefined);
  }

  /** Detaches the operation of a settled request: it continues, and no longer counts as pending. */
  detach(number: number): void {
    this.#requests[number] = new Request(Kind.Detached, this.owner(number));
    this.pending--;
  }

  /** Releases the objects and the number of a completed request. */
  end(number: number): void {
    if (this.kind(number) !== Kind.Detached) this.pending--;
    this.#requests[number] = undefined;
    this.#free.push(number);
  }
}
