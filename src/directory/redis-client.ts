import { withoutContext } from '../base/async-context.js';
import { within } from '../base/wait-options.js';
import { importPeer } from './errors.js';

/** The calls that are used of a client of the package redis. */
interface Client {
  readonly isReady: boolean;
  on(event: 'error', listener: (error: Error) => void): unknown;
  connect(): Promise<unknown>;
  destroy(): void;
  unref(): void;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  subscribe(channel: string, listener: () => void): Promise<void>;
}
interface Package {
  createClient(options: object): Client;
}

const TIMEOUT = 4000; // ms
const WAIT = { signal: undefined, timeout: TIMEOUT, unref: true };

// The types of the package would make its absence an error of the compiler.
const load = async () => {
  const name = 'redis';
  return importPeer(name, () => import(name) as Promise<Package>);
};

/**
 * Connections to Redis. None connects again by itself: its timers would keep the process alive, and its queue would hold
 * calls that should fail.
 */
export class RedisClient {
  readonly #options: { readonly url?: string; readonly socket?: object };
  #calls: Promise<Client> | undefined;

  /** @param options options of createClient(). */
  constructor(options: { readonly url?: string; readonly socket?: object }) {
    this.#options = options;
  }

  async run(script: string, keys: string[], args: string[]): Promise<unknown> {
    const calls: Promise<Client> =
      this.#calls ?? withoutContext(() => this.#connect(() => this.#drop(calls)));
    this.#calls = calls;
    try {
      const client = await calls;
      return await within(client.eval(script, { keys, arguments: args }), WAIT, 'redis');
    } catch (error) {
      this.#drop(calls);
      throw error;
    }
  }

  /** Calls `each` when the channel is subscribed, and for each of its messages. Rejects when the connection is lost. */
  async subscribe(channel: string, each: () => void, signal: AbortSignal): Promise<void> {
    let lost: (error: Error) => void = () => {};
    const end = new Promise<never>((_, reject) => {
      lost = reject;
    });
    end.catch(() => {});
    const client = await this.#connect(lost);
    const stop = () => lost(new Error('the watch has ended'));
    signal.addEventListener('abort', stop);
    try {
      if (signal.aborted) return;
      await within(client.subscribe(channel, each), WAIT, 'redis');
      each();
      await end;
    } finally {
      signal.removeEventListener('abort', stop);
      destroy(client);
    }
  }

  close(): void {
    this.#drop(this.#calls);
  }

  /** A connection that has failed is not used again. */
  #drop(calls: Promise<Client> | undefined): void {
    if (calls === undefined || this.#calls !== calls) return;
    this.#calls = undefined;
    calls.then(destroy, () => {});
  }

  /** @param lost is called when the connection is lost. */
  async #connect(lost: (error: Error) => void): Promise<Client> {
    const { createClient } = await load();
    const socket = { connectTimeout: TIMEOUT, ...this.#options.socket, reconnectStrategy: false };
    const client = createClient({ ...this.#options, socket, disableOfflineQueue: true });
    client.unref();
    client.on('error', lost);
    try {
      await within(client.connect(), WAIT, 'redis');
      return client;
    } catch (error) {
      destroy(client);
      throw error;
    }
  }
}

/** A client whose connection has ended may throw. */
function destroy(client: Client): void {
  try {
    client.destroy();
  } catch {}
}
