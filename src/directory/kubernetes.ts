import { lookup } from 'node:dns/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { checkInteger, checkOptions, checkString, MAX_PORT, namesOf } from '../base/checks.js';
import { invalidArgType } from '../base/errors.js';
import { Agents, askJson } from './http.js';
import { OwnEntries } from './own-entries.js';
import { entryOf } from './records.js';
import type { DirectoryStore, StoredEntry } from './store.js';
import { StoredDirectory, type StoredDirectoryOptions } from './stored-directory.js';

/** Options of a KubernetesDirectory. */
export interface KubernetesDirectoryOptions extends StoredDirectoryOptions {
  /** The DNS name of a headless service: `'engines.default.svc.cluster.local'`. It has a record for each pod. */
  readonly service: string;
  /** The port at which each pod serves its entries over HTTP. */
  readonly port: number;
  /** The address of this pod at which its entries are served. If omitted, all addresses. */
  readonly host?: string;
  /** `false`: a server of the program serves the entries, with `directory.handle()`. If omitted, true. */
  readonly listen?: boolean;
  /** Returns the addresses of the service. If omitted, as dns.lookup() of Node.js does. */
  readonly resolve?: (service: string) => Promise<readonly string[]>;
}

const NAMES = namesOf<KubernetesDirectoryOptions>({
  service: 1,
  port: 1,
  host: 1,
  listen: 1,
  resolve: 1,
  interval: 1,
});
const INTERVAL = 2000; // ms

/**
 * A directory of the pods of a headless service, without a server in between: each pod serves its own entries over HTTP and
 * asks all others. An entry disappears when its pod has not answered for its lease.
 */
export class KubernetesDirectory extends StoredDirectory {
  readonly #own: OwnEntries;

  /** @throws TypeError, RangeError for invalid options. */
  constructor(options: KubernetesDirectoryOptions) {
    const { interval = INTERVAL, ...rest } = checkOptions('options', options, NAMES);
    const own = new OwnEntries();
    super(new PodStore(own, rest), { interval });
    this.#own = own;
  }

  /**
   * Answers a request of another pod, for a server of node:http that the program has. Returns whether the request was one.
   *
   * @example
   * ```ts
   * createServer((request, response) => directory.handle(request, response) || response.writeHead(404).end());
   * ```
   */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    return this.#own.handle(request, response);
  }
}

const TIMEOUT = 1000; // ms
const MAX_TEXT = 2 ** 20;

interface Seen {
  readonly entry: StoredEntry;
  readonly host: string;
  /** When the host was asked, by performance.now(). */
  readonly at: number;
}

class PodStore implements DirectoryStore {
  readonly name: string;
  readonly #own: OwnEntries;
  readonly #service: string;
  readonly #port: number;
  readonly #host: string | undefined;
  readonly #listens: boolean;
  readonly #resolve: (service: string) => Promise<readonly string[]>;
  readonly #agents = new Agents();
  readonly #seen = new Map<string, Map<string, Seen>>();

  constructor(own: OwnEntries, options: Partial<KubernetesDirectoryOptions>) {
    const { host, listen = true, resolve = addressesOf } = options;
    if (typeof listen !== 'boolean') throw invalidArgType('options.listen', 'a boolean', listen);
    if (typeof resolve !== 'function') {
      throw invalidArgType('options.resolve', 'a function', resolve);
    }
    this.#own = own;
    this.#service = checkString('options.service', options.service);
    this.#port = checkInteger('options.port', options.port, 1, MAX_PORT);
    this.#host = host === undefined ? undefined : checkString('options.host', host);
    this.#listens = listen;
    this.#resolve = resolve;
    this.name = `the pods of ${this.#service}`;
  }

  async put(group: string, entry: StoredEntry): Promise<void> {
    if (this.#listens) await this.#own.listen(this.#port, this.#host);
    this.#own.set(group, entry);
  }

  async remove(group: string, id: string): Promise<void> {
    this.#own.delete(group, id);
  }

  async list(group: string): Promise<readonly StoredEntry[]> {
    const hosts = await this.#resolve(this.#service);
    const seen = this.#seen.get(group) ?? new Map<string, Seen>();
    this.#seen.set(group, seen);
    await Promise.all(hosts.map((host) => this.#ask(host, group, seen)));
    const now = performance.now();
    for (const [id, { entry, at }] of seen) if (now - at >= entry.ttl) seen.delete(id);
    return [...seen.values()].map(({ entry }) => entry);
  }

  async #ask(host: string, group: string, seen: Map<string, Seen>): Promise<void> {
    const at = performance.now();
    const url = new URL(`http://${host.includes(':') ? `[${host}]` : host}:${this.#port}`);
    url.pathname = OwnEntries.pathOf(group);
    let answer: unknown;
    try {
      answer = await askJson(url, { agents: this.#agents, timeout: TIMEOUT, maxText: MAX_TEXT });
    } catch {
      return; // the pod's entries stay for their lease
    }
    const entries = Object.entries(Object(answer)).flatMap(
      ([id, record]) => entryOf(`the pod ${host}`, group, id, record) ?? [],
    );
    for (const [id, { host: of }] of seen) if (of === host) seen.delete(id);
    for (const entry of entries) seen.set(entry.id, { entry, host, at });
  }

  async close(): Promise<void> {
    this.#agents.close();
    await this.#own.close();
  }
}

/** The addresses of a name. None if the name has none, as a service without pods. */
async function addressesOf(service: string): Promise<readonly string[]> {
  try {
    return (await lookup(service, { all: true })).map(({ address }) => address);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTFOUND') return [];
    throw error;
  }
}
