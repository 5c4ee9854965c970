// Signals of the kinds that calls may get.
import { getEventListeners } from 'node:events';
import { createContext, runInContext } from 'node:vm';

/** The number of listeners of a signal. Node warns about more than 10. */
export const listenersOf = (signal: AbortSignal): number =>
  getEventListeners(signal, 'abort').length;

interface ForeignController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

const SOURCE = `
  const listeners = new Set();
  const signal = {
    aborted: false,
    addEventListener: (type, listener) => type === 'abort' && listeners.add(listener),
    removeEventListener: (type, listener) => type === 'abort' && listeners.delete(listener),
  };
  ({
    signal,
    abort(...reason) {
      signal.aborted = true;
      if (reason.length > 0) [signal.reason] = reason;
      for (const listener of [...listeners]) listener();
    },
  });
`;

/**
 * A controller of another realm, as that of jsdom is. Its signal is no AbortSignal of this realm, and has no reason
 * unless abort() gets one.
 */
export const foreignController = (): ForeignController =>
  runInContext(SOURCE, createContext({})) as ForeignController;
