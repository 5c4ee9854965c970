// In which async context emitters emit, and functions of a program are called.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { EventEmitter } from 'node:events';

export const storage = new AsyncLocalStorage<string>();

/** Calls in the context of a call of the program. */
export const as = <T>(name: string, call: () => T): T => storage.run(name, call);

/** Each event or function, and the contexts in which it came. */
export class Seen {
  readonly #contexts = new Map<string, Set<string>>();

  /** Notes that something has happened in the present context. */
  note(what: string): void {
    const contexts = this.#contexts.get(what) ?? new Set();
    this.#contexts.set(what, contexts.add(String(storage.getStore())));
  }

  /** Notes the events of an emitter. */
  watch<E extends EventEmitter>(emitter: E): E {
    const emit = emitter.emit.bind(emitter) as (...args: unknown[]) => boolean;
    emitter.emit = ((event: unknown, ...args: unknown[]) => {
      this.note(String(event));
      return emit(event, ...args);
    }) as typeof emitter.emit;
    return emitter;
  }

  /** A function of the program. */
  callback = (what: string) => (): void => this.note(what);

  /** The contexts of these events and functions: 'none' if they did not come. */
  of(whats: readonly string[]): Record<string, string> {
    return Object.fromEntries(
      whats.map((what) => [what, [...(this.#contexts.get(what) ?? ['none'])].join(' and ')]),
    );
  }
}

/** All of these, in one context. */
export const allIn = (context: string, whats: readonly string[]): Record<string, string> =>
  Object.fromEntries(whats.map((what) => [what, context]));
