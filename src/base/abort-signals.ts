import { Deferred } from './deferred.js';
import { invalidArgType } from './errors.js';
import { isRevoked } from './objects.js';

/** Whether a value has the members of a signal that are used here. It may be of another realm. */
export function isSignal(value: unknown): value is AbortSignal {
  if (typeof value !== 'object' || value === null || isRevoked(value)) return false;
  const { aborted, addEventListener, removeEventListener } = value as Partial<AbortSignal>;
  return (
    typeof aborted === 'boolean' &&
    typeof addEventListener === 'function' &&
    typeof removeEventListener === 'function'
  );
}

// The reasons of signals that have none, as those of older implementations.
const reasons = new WeakMap<AbortSignal, DOMException>();

/** The reason of an aborted signal: always the same value. */
export function reasonOf(signal: AbortSignal): unknown {
  if (signal.reason !== undefined) return signal.reason;
  const reason =
    reasons.get(signal) ?? new DOMException('This operation was aborted', 'AbortError');
  reasons.set(signal, reason);
  return reason;
}

/** Checks the signal of a call, whether it is aborted or not. */
export function checkAnySignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || isSignal(signal)) return signal;
  throw invalidArgType('options.signal', 'an AbortSignal', signal);
}

/** Checks the signal of a call. Throws its reason if it is already aborted. */
export function checkSignal(signal: unknown): AbortSignal | undefined {
  const checked = checkAnySignal(signal);
  if (checked?.aborted) throw reasonOf(checked);
  return checked;
}

interface Watched {
  readonly calls: Set<() => void>;
  readonly onAbort: () => void;
}

// Node warns about more than 10 listeners of a signal, and one signal may stop any number of calls.
const signals = new WeakMap<AbortSignal, Watched>();

/**
 * Calls `call` once when a signal aborts. All calls of a signal share one listener.
 *
 * @param call must not throw.
 */
export function onAbort(signal: AbortSignal, call: () => void): void {
  let watched = signals.get(signal);
  if (watched === undefined) {
    const calls = new Set<() => void>();
    watched = { calls, onAbort: () => abort(signal, calls) };
    signals.set(signal, watched);
    signal.addEventListener('abort', watched.onAbort, { once: true });
  }
  watched.calls.add(call);
}

function abort(signal: AbortSignal, calls: Iterable<() => void>): void {
  for (const call of calls) call(); // without the calls that an earlier call has removed
  signals.delete(signal);
}

/** A signal that aborts when the first of others does. */
export class FirstAbort {
  readonly #controller = new AbortController();
  readonly #leave: (() => void)[] = [];

  constructor(signals: readonly (AbortSignal | undefined)[]) {
    for (const signal of signals) {
      if (signal === undefined) continue;
      const abort = () => this.end(reasonOf(signal));
      if (signal.aborted) abort();
      else onAbort(signal, abort);
      this.#leave.push(() => offAbort(signal, abort));
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts the signal, unless it has aborted, and leaves the others. It must be called once the signal is not needed. */
  end(reason?: unknown): void {
    this.#controller.abort(reason);
    for (const leave of this.#leave.splice(0)) leave();
  }
}

/** Removes a call of onAbort(). */
export function offAbort(signal: AbortSignal, call: () => void): void {
  const watched = signals.get(signal);
  if (watched === undefined) return;
  watched.calls.delete(call);
  if (watched.calls.size > 0) return;
  signal.removeEventListener('abort', watched.onAbort);
  signals.delete(signal);
}

/** What a promise brings, unless a signal aborts before: then rejects with its reason, and what comes later is dropped. */
export async function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const ended = new Deferred<never>();
  const abort = () => ended.reject(reasonOf(signal));
  if (signal.aborted) abort();
  else onAbort(signal, abort);
  try {
    return await Promise.race([ended.promise, promise]);
  } finally {
    offAbort(signal, abort);
  }
}
