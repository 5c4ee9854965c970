// etcd's JSON gateway, which every etcd from 3.4 on serves at the port of its clients.
import { Agents, askJson, askLines, HttpError } from './http.js';
import { TooLongError } from './records.js';

export interface EtcdClientOptions {
  readonly endpoints: readonly URL[];
  readonly user: { readonly name: string; readonly password: string } | undefined;
  readonly tls: Readonly<Record<string, unknown>> | undefined;
}

/** A key or a value in the gateway's form. */
export const bytes = (text: string): string => Buffer.from(text).toString('base64');
export const textOf = (value: string | undefined): string =>
  Buffer.from(value ?? '', 'base64').toString();

// ms that all endpoints together may take, which is less than the limit of a call of StoredDirectory.
const ALL_TIMEOUT = 12_000;
const TIMEOUT = 4000; // ms of one endpoint

// Another endpoint would give the same answer.
const isOfCluster = (error: unknown) =>
  error instanceof TooLongError || (error instanceof HttpError && error.status < 500);
const textOfError = (error: unknown) => (error instanceof Error ? error.message : '');
// Another token may help: this one has ended, was given before a user or a role changed, or is needed since a while.
const isRefused = (error: unknown) =>
  (error instanceof HttpError && error.status === 401) ||
  /invalid auth token|auth store is old|user name is empty/.test(textOfError(error));
const isWithoutUsers = (error: unknown) => /authentication is not enabled/.test(textOfError(error));

/** Calls etcd. If an endpoint fails, uses the next one. */
export class EtcdClient {
  readonly #options: EtcdClientOptions;
  readonly #agents: Agents;
  readonly #timeout: number;
  #current = 0;
  // Ends the streams of the current endpoint.
  #leaving = new AbortController();
  #token: Promise<string | undefined> | undefined;

  constructor(options: EtcdClientOptions) {
    this.#options = options;
    this.#agents = new Agents(options.tls);
    this.#timeout = Math.min(TIMEOUT, ALL_TIMEOUT / options.endpoints.length);
  }

  get host(): string {
    return this.#options.endpoints.map(({ host }) => host).join(',');
  }

  /**
   * Makes a call such as `kv/put`.
   *
   * @param timeout the milliseconds that an endpoint has, if this is less than usual.
   */
  async call<T>(path: string, body: object, timeout = this.#timeout): Promise<T> {
    const { endpoints } = this.#options;
    const limit = Math.min(timeout, this.#timeout);
    for (let tried = 1; ; tried++) {
      const endpoint = this.#current;
      try {
        return (await this.#authorized(limit, (headers) =>
          this.#ask(path, body, limit, headers),
        )) as T;
      } catch (error) {
        if (isOfCluster(error)) throw error;
        this.#leave(endpoint);
        if (tried === endpoints.length) throw error;
      }
    }
  }

  /** Makes a call whose response is a stream. Rejects when the stream ends. */
  async stream(
    path: string,
    body: object,
    each: (value: unknown) => void,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#authorized(this.#timeout, (headers) => {
      const request = { agents: this.#agents, method: 'POST', headers, body } as const;
      const until = AbortSignal.any([signal, this.#leaving.signal]);
      return askLines(this.#url(path), request, each, until);
    });
  }

  close(): void {
    this.#agents.close();
  }

  // Calls that fail at the same time move on by one endpoint together. A stream at an endpoint that was stopped would stay
  // silent.
  #leave(endpoint: number): void {
    const { length } = this.#options.endpoints;
    if (this.#current !== endpoint || length === 1) return;
    this.#current = (endpoint + 1) % length;
    this.#leaving.abort();
    this.#leaving = new AbortController();
  }

  #url(path: string): URL {
    return new URL(`/v3/${path}`, this.#options.endpoints[this.#current]);
  }

  #ask(path: string, body: unknown, timeout: number, headers: Record<string, string> = {}) {
    const request = { agents: this.#agents, method: 'POST', headers, body, timeout } as const;
    return askJson(this.#url(path), request);
  }

  async #authorized<T>(
    timeout: number,
    ask: (headers: Record<string, string>) => Promise<T>,
  ): Promise<T> {
    if (this.#options.user === undefined) return ask({});
    const known = this.#token;
    try {
      return await ask(await this.#authorization(timeout));
    } catch (error) {
      if (!isRefused(error) || known === undefined) throw error;
      if (this.#token === known) this.#token = undefined;
      return ask(await this.#authorization(timeout));
    }
  }

  // Calls at the same time share a token.
  async #authorization(timeout: number): Promise<Record<string, string>> {
    const asked = this.#token ?? this.#authenticate(timeout);
    this.#token = asked;
    try {
      const token = await asked;
      return token === undefined ? {} : { authorization: token };
    } catch (error) {
      if (this.#token === asked) this.#token = undefined;
      throw error;
    }
  }

  /** Undefined if etcd has no users at present. */
  async #authenticate(timeout: number): Promise<string | undefined> {
    try {
      const answer = await this.#ask('auth/authenticate', this.#options.user, timeout);
      return (answer as { token: string }).token;
    } catch (error) {
      if (isWithoutUsers(error)) return undefined;
      throw error;
    }
  }
}
