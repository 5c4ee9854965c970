/** What becomes of a request that has completed. */
export const enum Kind {
  /** Resolves with nothing. */
  Void = 0,
  /** Resolves with a Completion. */
  Completion = 1,
  /** Its owner is told. */
  Owner = 2,
  /** Resolves with a Completion that holds what a peek has claimed. */
  Claim = 3,
  /** Is settled; its operation goes on, and so it keeps what that uses. */
  Left = 4,
}

/** An owner of requests of kind {@link Kind.Owner}. */
export interface RequestOwner {
  /** A completion at u32 index `word` of the completion ring; `status` is 0 or an errno. */
  completed(request: number, status: number, word: number): void;
  /** The operation was to be cancelled, but it is posted and can't be recalled. */
  cancelRefused?(request: number): void;
}

let capturedResolve: (value: unknown) => void;
let capturedReject: (reason: unknown) => void;
// One executor for all: a closure for every promise would be the most expensive part of a send.
const capture = (resolve: (value: unknown) => void, reject: (reason: unknown) => void): void => {
  capturedResolve = resolve;
  capturedReject = reject;
};

class Request {
  resolve: ((value: unknown) => void) | undefined;
  reject: ((reason: unknown) => void) | undefined;
  constructor(
    readonly kind: Kind,
    readonly owner: unknown,
  ) {
    this.resolve = undefined;
    this.reject = undefined;
  }
}

/**
 * The requests in flight, by number. A request holds everything that its operation uses, and lets
 * go of it only when the engine has completed it.
 */
export class Requests {
  #free: number[] = [];
  #requests: (Request | undefined)[] = [];
  /** Requests that have not completed. */
  pending = 0;

  /** Takes a number for an operation that uses `owner`. */
  begin(kind: Kind, owner: unknown): number {
    this.pending++;
    const number = this.#free.length > 0 ? (this.#free.pop() as number) : this.#requests.length;
    this.#requests[number] = new Request(kind, owner);
    return number;
  }

  /** The promise of a request that has just begun. */
  promise<T>(number: number): Promise<T> {
    const promise = new Promise(capture) as Promise<T>;
    const request = this.#requests[number] as Request;
    request.resolve = capturedResolve;
    request.reject = capturedReject;
    return promise;
  }

  kind(number: number): Kind {
    return (this.#requests[number] as Request).kind;
  }

  /** Whether somebody is to be told of its completions. */
  owned(number: number): boolean {
    return this.#requests[number]?.kind === Kind.Owner;
  }

  owner(number: number): unknown {
    return this.#requests[number]?.owner;
  }

  /** Whether it has a promise, settled or not. */
  promised(number: number): boolean {
    return this.#requests[number]?.reject !== undefined;
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

  /** Settles the promise while the operation goes on to use its memory. */
  reject(number: number, reason: unknown): void {
    const request = this.#requests[number];
    if (request?.resolve === undefined) return;
    request.reject?.(reason);
    request.resolve = undefined;
  }

  /** The numbers of all requests that have not completed. */
  active(): number[] {
    return [...this.#requests.keys()].filter((number) => this.#requests[number] !== undefined);
  }

  /** Counts a request that is settled, and whose operation goes on, as pending no longer. */
  leave(number: number): void {
    this.#requests[number] = new Request(Kind.Left, this.owner(number));
    this.pending--;
  }

  /** Lets go of what a completed request held, and of its number. */
  end(number: number): void {
    if (this.kind(number) !== Kind.Left) this.pending--;
    this.#requests[number] = undefined;
    this.#free.push(number);
  }
}
