// Records the events of a tracingChannel() of node:diagnostics_channel.
import { AsyncLocalStorage } from 'node:async_hooks';
import { tracingChannel } from 'node:diagnostics_channel';
import { onTestFinished } from 'vitest';

/** The events of a success, and of a failure. */
export const SUCCEEDS = ['start', 'end', 'asyncStart', 'asyncEnd'];
export const FAILS = ['start', 'end', 'error', 'asyncStart', 'asyncEnd'];

/** The events with one message, and the stores of the caller's async context that they saw. */
export interface Trace<M> {
  readonly message: M;
  readonly events: string[];
  readonly stores: unknown[];
}

/** Records the events of a channel until the test ends. `storage` is where calls set the store that events see. */
export function record<M extends object>(name: string) {
  const storage = new AsyncLocalStorage<string>();
  const traces: Trace<M>[] = [];
  const channel = tracingChannel<unknown, M>(name);
  const seen = (event: string) => (message: M) => {
    const known = traces.find((trace) => trace.message === message);
    const trace = known ?? { message, events: [], stores: [] };
    if (known === undefined) traces.push(trace);
    trace.events.push(event);
    trace.stores.push(storage.getStore());
  };
  const handlers = {
    start: seen('start'),
    end: seen('end'),
    asyncStart: seen('asyncStart'),
    asyncEnd: seen('asyncEnd'),
    error: seen('error'),
  };
  channel.subscribe(handlers);
  onTestFinished(() => {
    channel.unsubscribe(handlers);
  });
  return {
    storage,
    traces,
    /** The events that saw a store, in order. Throws if the same trace saw another store too. */
    eventsOf(store: string): string[] {
      const own = traces.filter(({ stores }) => stores.includes(store));
      if (own.some(({ stores }) => stores.some((each) => each !== store)))
        throw new Error(`a trace of ${store} saw other stores`);
      return own.flatMap(({ events }) => events);
    },
  };
}
