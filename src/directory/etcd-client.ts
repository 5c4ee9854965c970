// etcd's JSON gateway, which every etcd from 3.4 on serves at the port of its clients.
import { Agents, askJson, askLines, HttpError } from './http.js';

export interface EtcdClientOptions {
  readonly endpoints: readonly URL[];
  readonly user: { readonly name: string; readonly password: string } | undefined;
  readonly tls: Readonly<Record<string, unknown>> | undefined;
}

/** A key or a value in the gateway's form. */
export const bytes = (text: string): string => Buffer.from(text).toString('base64');
export const textOf = (value: string | undefined): string =>
  Buffer.from(value ?? '', 'base64').toString();

const isOfServer = (error: unknown) => error instanceof HttpError && error.status < 500;
const isRefused = (error: unknown) => error instanceof HttpError && error.status === 401;

/** Calls etcd. If an endpoint fails, uses the next one. */
export class EtcdClient {
  readonly #options: EtcdClientOptions;
  readonly #agents: Agents;
  #current = 0;
  #token: string | undefined;

  constructor(options: EtcdClientOptions) {
    this.#options = options;
    this.#agents = new Agents(options.tls);
  }

  get host(): string {
    return this.#options.endpoints.map(({ host }) => host).join(',');
  }

  /** Makes a call such as `kv/put`. */
  async call<T>(path: string, body: object): Promise<T> {
    const { endpoints } = this.#options;
    for (let tried = 1; ; tried++) {
      try {
        return (await this.#authorized((headers) =>
          askJson(this.#url(path), { agents: this.#agents, method: 'POST', headers, body }),
        )) as T;
      } catch (error) {
        if (isOfServer(error)) throw error;
        this.#current = (this.#current + 1) % endpoints.length;
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
    await this.#authorized((headers) => {
      const request = { agents: this.#agents, method: 'POST', headers, body } as const;
      return askLines(this.#url(path), request, each, signal);
    });
  }

  close(): void {
    this.#agents.close();
  }

  #url(path: string): URL {
    return new URL(`/v3/${path}`, this.#options.endpoints[this.#current]);
  }

  // A token of etcd's users ends after some minutes without use.
  async #authorized<T>(ask: (headers: Record<string, string>) => Promise<T>): Promise<T> {
    if (this.#options.user === undefined) return ask({});
    const hadToken = this.#token !== undefined;
    try {
      this.#token ??= await this.#authenticate();
      return await ask({ authorization: this.#token });
    } catch (error) {
      if (!isRefused(error) || !hadToken) throw error;
      this.#token = await this.#authenticate();
      return ask({ authorization: this.#token });
    }
  }

  async #authenticate(): Promise<string> {
    const url = this.#url('auth/authenticate');
    const answer = await askJson(url, {
      agents: this.#agents,
      method: 'POST',
      body: this.#options.user,
    });
    return (answer as { token: string }).token;
  }
}
