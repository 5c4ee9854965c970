import type { EventEmitter } from 'node:events';
import { throwLater } from './throw-later.js';

/**
 * Emits an event in the middle of the caller's work. What a listener throws becomes an uncaught exception after it.
 *
 * @returns whether there were listeners.
 */
export function emitApart(emitter: EventEmitter, event: string, ...args: unknown[]): boolean {
  try {
    return emitter.emit(event, ...args);
  } catch (error) {
    throwLater(error);
    return true;
  }
}

/** Calls a function of the program in the middle of the caller's work, in the same way. */
export function callApart<Args extends unknown[]>(
  called: ((...args: Args) => unknown) | undefined,
  ...args: Args
): void {
  try {
    called?.(...args);
  } catch (error) {
    throwLater(error);
  }
}
