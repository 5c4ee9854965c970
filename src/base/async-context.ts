import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import type { EventEmitter } from 'node:events';

// The context in which this module was loaded, until the addon is there: JavaScript cannot leave all contexts.
let leave: <T>(call: () => T) => T = AsyncLocalStorage.snapshot();

/**
 * Calls a function in no async context. Whatever is shared by several calls of a program, and stays, must be made like this:
 * otherwise it would call back in the context of the call that happened to be the first, and keep its stores alive.
 */
export function withoutContext<T>(call: () => T): T {
  return leave(call);
}

/** Sets the function of the addon that calls another one in no async context. */
export function leaveContextsBy(call: typeof leave): void {
  leave = call;
}

/** The async context of a call, for what happens later because of it. */
export class CallContext {
  readonly #resource = new AsyncResource('LIBFABRIC');

  /** Calls a function in the context. */
  run<A extends unknown[], T>(call: (...args: A) => T, ...args: A): T {
    return this.#resource.runInAsyncScope(call, undefined, ...args);
  }
}

/** The context of the last listen() of a server of Node.js; before that of this call. */
export class ListenContext {
  readonly #server: EventEmitter;
  #context = new CallContext();

  constructor(server: EventEmitter) {
    this.#server = server;
    server.on('listening', this.#listens);
  }

  readonly #listens = (): void => {
    this.#context = new CallContext();
  };

  /** Calls a function in the context. */
  run(call: () => void): void {
    this.#context.run(call);
  }

  /** Follows the server no more. */
  close(): void {
    this.#server.off('listening', this.#listens);
  }
}

/** Returns a function that calls another one in the context of this call. */
export function inThisContext<A extends unknown[], T>(call: (...args: A) => T): (...args: A) => T {
  const context = new CallContext();
  return (...args) => context.run(call, ...args);
}
