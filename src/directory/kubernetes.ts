import { lookup } from 'node:dns/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { checkInteger, checkOptions, checkText, MAX_PORT, namesOf } from '../base/checks.js';
import { invalidArgType } from '../base/errors.js';
import { Agents, askJson, MalformedError } from './http.js';
import { OwnEntries } from './own-entries.js';
import { entryOf, TooLongError, warnOnce } from './records.js';
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

/** What a pod has answered. */
interface Answer {
  readonly host: string;
  readonly entries: readonly StoredEntry[];
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
    this.#service = checkText('options.service', options.service);
    this.#port = checkInteger('options.port', options.port, 1, MAX_PORT);
    this.#host = host === undefined ? undefined : checkText('options.host', host);
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
    const at = performance.now();
    const answers = await Promise.all(hosts.map((host) => this.#ask(host, group)));
    takeRound(
      seen,
      group,
      at,
      answers.filter((answer) => answer !== undefined),
    );
    const now = performance.now();
    for (const [id, seenEntry] of seen)
      if (now - seenEntry.at >= seenEntry.entry.ttl) seen.delete(id);
    return [...seen.values()].map(({ entry }) => entry);
  }

  /** The entries of a pod. Undefined if it does not answer, or answers nonsense: what was seen of it stays for its lease. */
  async #ask(host: string, group: string): Promise<Answer | undefined> {
    let answer: unknown;
    try {
      const url = new URL(`http://${host.includes(':') ? `[${host}]` : host}:${this.#port}`);
      url.pathname = OwnEntries.pathOf(group);
      answer = await askJson(url, { agents: this.#agents, timeout: TIMEOUT, maxText: MAX_TEXT });
    } catch (error) {
      if (error instanceof MalformedError || error instanceof TooLongError) {
        warnOnce(`the pod ${host} has a malformed answer`, group, error.message);
      }
      return undefined;
    }
    const records = Object.entries(Object(answer));
    const where = `the pod ${host}`;
    return { host, entries: records.flatMap(([id, it]) => entryOf(where, group, id, it) ?? []) };
  }

  async close(): Promise<void> {
    this.#agents.close();
    await this.#own.close();
  }
}

/**
 * Takes the answers of one round. A pod has the ids that it had before, as long as it answers with them; another pod that
 * claims them is ignored.
 */
function takeRound(
  seen: Map<string, Seen>,
  group: string,
  at: number,
  answers: readonly Answer[],
): void {
  const holders = new Map([...seen].map(([id, { host }]) => [id, host]));
  const answered = new Set(answers.map(({ host }) => host));
  for (const [id, { host }] of seen) if (answered.has(host)) seen.delete(id);
  const found = answers.flatMap(({ host, entries }) =>
    entries.map((entry) => ({ host, entry, at })),
  );
  const isHeld = ({ host, entry }: Seen) => holders.get(entry.id) === host;
  for (const one of [...found.filter(isHeld), ...found.filter((one) => !isHeld(one))]) {
    const { host, entry } = one;
    const other = seen.get(entry.id);
    if (other === undefined || !answered.has(other.host)) seen.set(entry.id, one);
    // A pod may have several addresses.
    else if (other.entry.address !== entry.address) {
      warnOnce(
        `the pod ${host} has the id of an entry of ${other.host} in ${group}`,
        entry.id,
        entry.id,
      );
    }
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
