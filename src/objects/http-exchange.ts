// Requests of a client by node:http.
import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps, Agent as SecureAgent } from 'node:https';
import { pipeline, Readable } from 'node:stream';
import { reasonOf } from '../base/abort-signals.js';
import { ifStillIdle } from '../base/time-limit.js';
import { connectionError } from '../net/errors.js';
import { type AnswerBody, joined, MAX_AT_ONCE, owned } from './answer-body.js';
import {
  type Call,
  type Exchange,
  type Head,
  isBodiless,
  noAnswer,
  type OpenAnswer,
} from './exchange.js';
import { type RequestBody, slicesOf } from './request-body.js';

const KEEP = { keepAlive: true, maxSockets: 128 };
const NOTHING_READ = { bytesRead: 0 };

/** Requests over connections that stay. It takes about half of the CPU time of fetch(). */
export class HttpExchange implements Exchange {
  readonly #base: URL;
  readonly #agent: Agent;

  constructor(base: URL) {
    this.#base = base;
    this.#agent = base.protocol === 'https:' ? new SecureAgent(KEEP) : new Agent(KEEP);
  }

  open({ method, path, fields, body, signal, timeout }: Call): Promise<OpenAnswer> {
    const { hostname, port, protocol } = this.#base;
    const request = protocol === 'https:' ? requestHttps : requestHttp;
    return new Promise((resolve, reject) => {
      let arriving: HttpBody | undefined;
      const sent = request(
        {
          agent: this.#agent,
          host: hostname.replace(/^\[|\]$/g, ''),
          port,
          method,
          path,
          headers: body ? { ...fields, 'content-length': body.length } : fields,
          ...(signal && { signal }),
        },
        (response) => {
          arriving = new HttpBody(response, method, timeout);
          resolve({
            status: response.statusCode as number,
            fields: response.headers as Head['fields'],
            body: arriving,
          });
        },
      );
      const fail = (error: Error) => {
        const reason = signal?.aborted ? reasonOf(signal) : error;
        arriving?.fail(reason);
        reject(reason);
      };
      sent.on('error', fail);
      sent.setTimeout(timeout);
      sent.on('timeout', () =>
        ifStillIdle(sent.socket ?? NOTHING_READ, () => sent.destroy(noAnswer(timeout))),
      );
      if (body?.isLent) sendLent(sent, body, fail);
      else sent.end(body?.bytes);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

// node:http keeps what it cannot send yet, and throws out of its own calls if that is detached then.
function sendLent(request: ClientRequest, body: RequestBody, fail: (error: Error) => void): void {
  const slices = Readable.from(slicesOf(body));
  slices.once('error', fail);
  pipeline(slices, request, () => {}); // the request has its own errors
}

function lengthOf({ headers, statusCode }: IncomingMessage, method: string): number | undefined {
  if (isBodiless(method, statusCode)) return 0;
  const text = headers['content-length'];
  return text === undefined ? undefined : Number(text);
}

/** Nothing is thrown in its listeners: node:http would pass it to the process. */
class HttpBody implements AnswerBody {
  readonly length: number | undefined;
  readonly #response: IncomingMessage;
  readonly #timeout: number;
  #failed: { readonly error: unknown } | undefined;
  #reject: (error: unknown) => void = () => {};

  /** @param timeout milliseconds for each of its bytes. */
  constructor(response: IncomingMessage, method: string, timeout: number) {
    this.length = lengthOf(response, method);
    this.#response = response;
    this.#timeout = timeout;
    const reset = () =>
      this.fail(connectionError('ECONNRESET', 'the server has closed the connection', 'read'));
    response.on('error', reset);
    response.on('aborted', reset);
  }

  fail(error: unknown): void {
    this.#failed ??= { error };
    this.#reject(this.#failed.error);
  }

  async *pieces(): AsyncGenerator<Uint8Array, undefined> {
    const chunks: AsyncIterator<Buffer> = this.#response[Symbol.asyncIterator]();
    try {
      for (;;) {
        this.#limitSilence(this.#timeout);
        const { value, done } = await chunks.next();
        if (done) return undefined;
        this.#limitSilence(0); // the program may take its time
        yield owned(value);
      }
    } catch (error) {
      throw this.#failed ? this.#failed.error : error;
    } finally {
      this.cancel();
    }
  }

  // The socket of an answer that is complete may have another request.
  #limitSilence(timeout: number): void {
    if (!this.#response.complete) this.#response.socket.setTimeout(timeout);
  }

  /** It copies bytes once if their number is known. */
  async whole(limit: number, tooLong: (bytes: number) => Error): Promise<Uint8Array> {
    const { length = 0 } = this;
    if (length > limit) {
      this.cancel();
      throw tooLong(length);
    }
    const isKnown = length > 0 && length <= MAX_AT_ONCE;
    const room = isKnown ? Buffer.allocUnsafeSlow(length) : undefined;
    const chunks: Buffer[] = [];
    let at = 0;
    await new Promise<void>((resolve, reject) => {
      this.#reject = reject;
      if (this.#failed) reject(this.#failed.error);
      this.#response.on('data', (chunk: Buffer) => {
        if (room === undefined) chunks.push(chunk);
        else if (at + chunk.length <= length) room.set(chunk, at);
        at += chunk.length;
        if (at <= limit) return;
        reject(tooLong(at));
        this.cancel();
      });
      this.#response.on('end', resolve);
    });
    return room ?? joined(chunks, at);
  }

  cancel(): void {
    if (!this.#response.readableEnded) this.#response.destroy();
  }
}
