import { checkSignal } from '../base/abort-signals.js';
import { Arrivals, Reader } from '../base/arrivals.js';
import {
  checkMilliseconds,
  checkOptions,
  checkText,
  MAX_MILLISECONDS,
  namesOf,
} from '../base/checks.js';
import { describes, uncloneable } from '../base/describe.js';
import {
  checkEntry,
  checkName,
  type Directory,
  type DirectoryEntry,
  type PublishOptions,
  ttlOf,
  type WatchOptions,
} from '../base/directory.js';
import { closed, invalidArgType } from '../base/errors.js';
import { isRevoked } from '../base/objects.js';
import { within } from '../base/wait-options.js';
import { CheckedStore } from './checked-store.js';
import { failed } from './errors.js';
import { Leases } from './leases.js';
import type { DirectoryStore } from './store.js';
import { Watching } from './watching.js';

const UNCLONEABLE = uncloneable('a directory belongs to its thread: make another one there');
const WATCH = namesOf<WatchOptions>({ signal: 1 });
const TIMEOUT = 15_000; // ms

/** Options of all directories. */
export interface StoredDirectoryOptions {
  /**
   * Milliseconds between two looks of a watch. If the service reports changes, a look finds only the ends of leases that
   * were not reported.
   */
  readonly interval?: number;
}

/**
 * A directory over any service that can write, remove and list: it renews leases, watches, and survives outages of the
 * service. An outage ends no watch and removes no entry: each entry stays until the service is back, and then one lease
 * longer, in which its owner publishes it again. Warnings tell of outages.
 *
 * Leases and watches do not keep the process alive.
 */
export class StoredDirectory implements Directory, AsyncDisposable {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /** @internal */
  readonly name: string;
  readonly #store: CheckedStore;
  readonly #interval: number;
  readonly #leases: Leases;
  readonly #watches = new Set<Arrivals<readonly DirectoryEntry[]>>();
  readonly #watchings = new Set<Watching>();
  #closing: Promise<void> | undefined;

  /** @throws TypeError, RangeError for invalid options. */
  constructor(store: DirectoryStore, options: StoredDirectoryOptions = {}) {
    const { interval = 1000 } = checkOptions(
      'options',
      options,
      namesOf<StoredDirectoryOptions>({ interval: 1 }),
    );
    this.#store = new CheckedStore(checkStore(store));
    this.name = store.name;
    this.#interval = checkInterval(interval);
    this.#leases = new Leases(this.#store);
  }

  /** @internal The number of watches. */
  get watches(): number {
    return this.#watchings.size;
  }

  /** Whether close() was called. */
  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /**
   * Publishes an entry, in place of an earlier one of this object with the same id.
   *
   * @throws FabricError with the code of the failure if the service cannot be reached; nothing is published then.
   * TypeError, RangeError for invalid arguments. Error ERR_CLOSED.
   */
  async publish(group: string, entry: DirectoryEntry, options: PublishOptions = {}): Promise<void> {
    this.#checkOpen();
    const leased = { ...checkEntry(entry), ttl: ttlOf(options) };
    const name = checkName('group', group);
    await this.#call('publish', this.#leases.publish(name, leased));
  }

  /**
   * Removes an entry that this object has published. Does nothing if it has not.
   *
   * @throws FabricError with the code of the failure if the service cannot be reached. The entry then ends with its
   * lease. TypeError for invalid arguments. Error ERR_CLOSED.
   */
  async withdraw(group: string, id: string): Promise<void> {
    this.#checkOpen();
    const name = checkName('group', group);
    await this.#call('withdraw', this.#leases.withdraw(name, checkName('id', id)));
  }

  /**
   * The entries of a group now, in the order of their ids.
   *
   * @throws FabricError with the code of the failure if the service cannot be reached. TypeError for invalid arguments.
   * Error ERR_CLOSED.
   */
  async lookup(group: string): Promise<readonly DirectoryEntry[]> {
    this.#checkOpen();
    const name = checkName('group', group);
    const found = await this.#call('lookup', this.#store.list(name));
    return found.map(({ id, address }) => ({ id, address })).sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /**
   * The entries of a group, at first and after each change. If several changes come before the next call of next(), it
   * gets the last state only. While the service cannot be reached, next() waits. close() ends the iterator.
   *
   * @throws TypeError for invalid arguments. Error ERR_CLOSED. The signal's reason.
   */
  watch(group: string, options: WatchOptions = {}): Reader<readonly DirectoryEntry[]> {
    this.#checkOpen();
    const name = checkName('group', group);
    const signal = checkSignal(checkOptions('options', options, WATCH).signal);
    const stop = () => {
      watching.stop();
      this.#watchings.delete(watching);
      this.#watches.delete(arrivals);
      arrivals.end(); // leaves the signal
    };
    const arrivals = new Arrivals<readonly DirectoryEntry[]>(
      { failed: stop },
      signal === undefined ? {} : { signal },
    );
    const watching = new Watching(this.#store, this.#leases, name, this.#interval, (entries) => {
      arrivals.takeNow();
      arrivals.push(entries);
    });
    this.#watchings.add(watching);
    this.#watches.add(arrivals);
    return new Reader(arrivals, stop);
  }

  /** Withdraws the entries of this object, and ends its watches. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const watching of this.#watchings) watching.stop();
    for (const arrivals of this.#watches) arrivals.end();
    await this.#call('close', this.#leases.close()).catch(() => {});
    await this.#call('close', this.#store.close());
  }

  /** Closes the directory: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.closed) throw closed('the directory');
  }

  // The sockets of stores do not keep the process alive, but a call that the program awaits does.
  async #call<T>(name: string, call: Promise<T>): Promise<T> {
    const timer = setInterval(() => {}, MAX_MILLISECONDS);
    try {
      return await within(call, { signal: undefined, timeout: TIMEOUT }, name);
    } catch (error) {
      throw failed(name, this.name, error);
    } finally {
      clearInterval(timer);
    }
  }
}

describes(
  (directory) => directory.constructor.name,
  StoredDirectory,
  ({ name, closed }) => ({
    service: name,
    closed,
  }),
);

const CALLS = ['put', 'remove', 'list', 'close'] as const;

function checkStore(given: unknown): DirectoryStore {
  const store = (isRevoked(given) ? undefined : (given ?? undefined)) as
    | Partial<DirectoryStore>
    | undefined;
  if (!CALLS.every((call) => typeof store?.[call] === 'function'))
    throw invalidArgType('store', `an object with ${CALLS.join('(), ')}()`, given);
  checkText('store.name', store?.name);
  if (store?.follow !== undefined && typeof store.follow !== 'function')
    throw invalidArgType('store.follow', 'a function', store.follow);
  return store as DirectoryStore;
}

function checkInterval(interval: unknown): number {
  return checkMilliseconds('options.interval', interval, 1);
}
