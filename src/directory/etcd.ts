import { checkObject, checkOptions, checkString, checkText, namesOf } from '../base/checks.js';
import { invalidArgType, invalidArgValue } from '../base/errors.js';
import { isArray } from '../base/objects.js';
import { bytes, EtcdClient, textOf } from './etcd-client.js';
import { type EtcdKey, type EtcdRange, eachKey } from './etcd-range.js';
import { entryOf, isOfAnother, recordOf } from './records.js';
import type { DirectoryStore, StoredEntry } from './store.js';
import { StoredDirectory, type StoredDirectoryOptions } from './stored-directory.js';

/** Options of an EtcdDirectory. */
export interface EtcdDirectoryOptions extends StoredDirectoryOptions {
  /** URLs of the servers: `'http://10.0.0.2:2379'`. If one cannot be reached, the next one is used. */
  readonly endpoints: string | readonly string[];
  /** The begin of all keys. If omitted, `'/libfabric'`. */
  readonly prefix?: string;
  /** The user, if etcd has users. */
  readonly username?: string;
  readonly password?: string;
  /** Options of tls.connect() for `https:` endpoints: `ca`, `cert`, `key`. */
  readonly tls?: Readonly<Record<string, unknown>>;
}

const NAMES = namesOf<EtcdDirectoryOptions>({
  endpoints: 1,
  prefix: 1,
  username: 1,
  password: 1,
  tls: 1,
  interval: 1,
});
const INTERVAL = 10_000; // ms

/**
 * A directory in etcd 3.4 or newer, by its JSON gateway. A lease of etcd keeps each entry; etcd's leases have whole seconds,
 * and at least two.
 */
export class EtcdDirectory extends StoredDirectory {
  /** @throws TypeError, RangeError for invalid options. */
  constructor(options: EtcdDirectoryOptions) {
    const { interval = INTERVAL, ...rest } = checkOptions('options', options, NAMES);
    super(new EtcdStore(rest), { interval });
  }
}

/** A lease of etcd. */
interface Lease {
  readonly id: string;
  readonly seconds: number;
  /** When it may end, by performance.now(). */
  ends: number;
}

// An endpoint that does not answer must leave time for the others while the lease lives: renewals begin after a third of it.
const TRIES = 6;

/** The milliseconds that an endpoint has to answer, if a lease is at stake. */
const timeoutWithin = ({ seconds, ends }: Lease): number | undefined =>
  performance.now() < ends ? (seconds * 1000) / TRIES : undefined;

class EtcdStore implements DirectoryStore {
  readonly name: string;
  readonly #client: EtcdClient;
  readonly #prefix: string;
  // The lease of each entry, by its key.
  readonly #leases = new Map<string, Lease>();

  constructor(options: Partial<EtcdDirectoryOptions>) {
    const { prefix = '/libfabric', username, password, tls } = options;
    if (password !== undefined) checkString('options.password', password);
    if (password !== undefined && username === undefined)
      throw invalidArgValue('options.password', 'needs options.username');
    this.#prefix = checkString('options.prefix', prefix);
    this.#client = new EtcdClient({
      endpoints: endpointsOf(options.endpoints),
      user:
        username === undefined
          ? undefined
          : { name: checkText('options.username', username), password: password ?? '' },
      tls: tls === undefined ? {} : checkObject('options.tls', tls),
    });
    this.name = `etcd at ${this.#client.host}`;
  }

  async put(group: string, entry: StoredEntry): Promise<void> {
    const { key, record, lease } = await this.#leased(group, entry);
    await this.#client.call('kv/put', { key: bytes(key), value: bytes(record), lease: lease.id });
  }

  async renew(group: string, entry: StoredEntry): Promise<boolean> {
    const { key, record, lease, timeout } = await this.#leased(group, entry);
    // Keys may be deleted or changed while their leases live.
    const { kvs = [] } = await this.#client.call<{ kvs?: readonly EtcdKey[] }>(
      'kv/range',
      { key: bytes(key) },
      timeout,
    );
    const [found] = kvs;
    const text = found === undefined ? undefined : textOf(found.value);
    if (text !== undefined && isOfAnother(text, entry)) return false;
    if (text === record && found?.lease === lease.id) return true;
    const value = { key: bytes(key), value: bytes(record), lease: lease.id };
    const revision = found?.mod_revision ?? '0'; // 0: there is no such key
    return this.#change(
      { key: bytes(key), target: 'MOD', mod_revision: revision },
      { request_put: value },
    );
  }

  /** The lease of an entry, which it renews or makes. */
  async #leased(group: string, entry: StoredEntry) {
    const key = this.#keyOf(group, entry.id);
    const seconds = Math.ceil(entry.ttl / 1000);
    const known = this.#leases.get(key);
    const timeout = known === undefined ? undefined : timeoutWithin(known);
    const isLeased = known?.seconds === seconds && (await this.#renew(known, timeout));
    const lease = isLeased ? known : await this.#grant(seconds);
    this.#leases.set(key, lease);
    return { key, record: recordOf(entry), lease, timeout: isLeased ? timeout : undefined };
  }

  /** Returns false if the key is not as it should be. */
  async #change(compare: object, request: object): Promise<boolean> {
    const { succeeded = false } = await this.#client.call<{ succeeded?: boolean }>('kv/txn', {
      compare: [{ result: 'EQUAL', ...compare }],
      success: [request],
    });
    return succeeded;
  }

  async #grant(seconds: number): Promise<Lease> {
    const asked = performance.now();
    const { ID: id } = await this.#client.call<{ ID: string }>('lease/grant', {
      TTL: String(seconds),
    });
    return { id, seconds, ends: asked + seconds * 1000 };
  }

  /** Returns false if the lease has ended. */
  async #renew(lease: Lease, timeout: number | undefined): Promise<boolean> {
    const asked = performance.now();
    const answer = await this.#client.call<{ result?: { TTL?: string } }>(
      'lease/keepalive',
      { ID: lease.id },
      timeout,
    );
    const isLiving = Number(answer.result?.TTL ?? 0) > 0; // TTL is missing if the lease has ended
    if (isLiving) lease.ends = asked + lease.seconds * 1000;
    return isLiving;
  }

  async remove(group: string, id: string, entry: StoredEntry): Promise<void> {
    const key = this.#keyOf(group, id);
    const lease = this.#leases.get(key);
    this.#leases.delete(key);
    const written = { key: bytes(key), target: 'VALUE', value: bytes(recordOf(entry)) };
    await this.#change(written, { request_delete_range: { key: bytes(key) } });
    // The lease keeps nothing any more. It would end by itself, too.
    if (lease !== undefined) {
      await this.#client.call('lease/revoke', { ID: lease.id }).catch(() => {});
    }
  }

  async list(group: string): Promise<readonly StoredEntry[]> {
    const begin = this.#keyOf(group, '').length;
    let entries: StoredEntry[] = [];
    const each = ({ key, value, lease }: EtcdKey) => {
      const id = textOf(key).slice(begin);
      // A key without a lease would stay for ever.
      const record = lease === undefined ? 'without a lease' : textOf(value);
      const entry = entryOf(this.name, group, id, record);
      if (entry !== undefined) entries.push(entry);
    };
    await eachKey(this.#client, this.#range(group), each, () => {
      entries = [];
    });
    return entries;
  }

  follow(group: string, changed: () => void, signal: AbortSignal): Promise<void> {
    // Otherwise etcd sends all changes that a slow reader has missed as one message, of any length.
    const body = { create_request: { ...this.#range(group), fragment: true } };
    const each = (value: unknown) => {
      const { result } = value as { result?: { canceled?: boolean; cancel_reason?: string } };
      if (result === undefined || result.canceled) {
        throw new Error(
          `etcd has ended the watch: ${result?.cancel_reason ?? JSON.stringify(value)}`,
        );
      }
      changed(); // the first message says that the watch has begun
    };
    return this.#client.stream('watch', body, each, signal);
  }

  close(): void {
    this.#client.close();
  }

  #keyOf(group: string, id: string): string {
    return `${this.#prefix}/${group}/${id}`;
  }

  // All keys that begin with the group's: '0' follows '/'.
  #range(group: string): EtcdRange {
    const begin = this.#keyOf(group, '');
    return { key: bytes(begin), range_end: bytes(`${begin.slice(0, -1)}0`) };
  }
}

function endpointsOf(given: unknown): URL[] {
  if (typeof given === 'string') return [endpointOf('options.endpoints', given)];
  if (!isArray(given))
    throw invalidArgType('options.endpoints', 'a URL or an array of URLs', given);
  if (given.length === 0) throw invalidArgValue('options.endpoints', 'is empty');
  return Array.from(given, (each, i) => endpointOf(`options.endpoints[${i}]`, each));
}

function endpointOf(name: string, given: unknown): URL {
  const text = checkString(name, given);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw invalidArgValue(name, "must be a URL, such as 'http://10.0.0.2:2379'");
}
