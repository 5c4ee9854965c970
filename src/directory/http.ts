// Requests over node:http, because the sockets of fetch() would keep the process alive while a watch waits.

import { Agent, type ClientRequest, type IncomingMessage, request as overTcp } from 'node:http';
import { type AgentOptions, request as overTls, Agent as TlsAgent } from 'node:https';
import { TimeLimit } from '../base/time-limit.js';
import { TooLongError } from './records.js';

const TIMEOUT = 4000; // ms
const MAX_TEXT = 64 * 2 ** 20;

/** Keep sockets open between requests. */
export class Agents {
  readonly #http: Agent;
  readonly #https: Agent;

  /** @param tls options of tls.connect(). */
  constructor(tls: AgentOptions = {}) {
    const options = { keepAlive: true, keepAliveMsecs: 5000 };
    this.#http = new Agent(options);
    this.#https = new TlsAgent({ ...tls, ...options });
  }

  for({ protocol }: URL): Agent {
    return protocol === 'https:' ? this.#https : this.#http;
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

export interface HttpRequest {
  readonly agents: Agents;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  /** Is sent as JSON. */
  readonly body?: unknown;
  /** Milliseconds until the head of the response, and until its end. */
  readonly timeout?: number;
  /** The most characters of the response. */
  readonly maxText?: number;
}

/** A response with another status than 200. */
export class HttpError extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(`HTTP status ${status}: ${text.trim().slice(0, 200)}`);
    this.status = status;
  }
}

/** A response that is no JSON. */
export class MalformedError extends Error {}

/** Sends a request, and returns the JSON of its response. */
export async function askJson(url: URL, options: HttpRequest): Promise<unknown> {
  const { timeout = TIMEOUT } = options;
  const late = new AbortController();
  const { signal } = late;
  const limit = new TimeLimit(timeout, () => late.abort()).unref();
  try {
    const response = await open(url, options, signal);
    return parse(await textOf(response, options.maxText));
  } catch (error) {
    throw signal.aborted ? new Error(`no answer within ${timeout} ms`, { cause: error }) : error;
  } finally {
    limit.clear();
  }
}

/** Sends a request, and calls `each` with the JSON of each line of its response. Rejects when the response ends. */
export async function askLines(
  url: URL,
  options: HttpRequest,
  each: (value: unknown) => void,
  signal: AbortSignal,
): Promise<never> {
  const response = await open(url, options, signal);
  let rest = '';
  for await (const text of response.setEncoding('utf8')) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') each(parse(line));
    if (rest.length > MAX_TEXT) throw tooLong();
  }
  throw new Error('the response has ended');
}

async function open(url: URL, options: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const response = await send(url, options, signal);
  if (response.statusCode === 200) return response;
  throw new HttpError(response.statusCode ?? 0, await textOf(response, 4096));
}

function send(url: URL, options: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const { agents, method = 'GET', headers, body } = options;
  return new Promise((resolve, reject) => {
    const call = url.protocol === 'https:' ? overTls : overTcp;
    const request: ClientRequest = call(url, {
      agent: agents.for(url),
      method,
      signal,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    });
    request.on('socket', (socket) => socket.unref());
    request.on('response', resolve);
    request.on('error', (error) => {
      // The server has closed an idle socket meanwhile.
      const isStale = request.reusedSocket && !signal.aborted;
      if (isStale) send(url, options, signal).then(resolve, reject);
      else reject(error);
    });
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function textOf(response: IncomingMessage, most = MAX_TEXT): Promise<string> {
  let text = '';
  for await (const part of response.setEncoding('utf8')) {
    text += part;
    if (text.length > most) throw tooLong();
  }
  return text;
}

const tooLong = () => new TooLongError('the response is too long');

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new MalformedError(`the response is no JSON: ${text.slice(0, 64)}`, { cause });
  }
}
