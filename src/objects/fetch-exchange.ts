// Requests of a client by a function of the program.
import { types } from 'node:util';
import { FirstAbort, reasonOf, unlessAborted } from '../base/abort-signals.js';
import { invalidArgType } from '../base/errors.js';
import { isRevoked } from '../base/objects.js';
import { TimeLimit } from '../base/time-limit.js';
import { type AnswerBody, gathered, owned } from './answer-body.js';
import {
  type Call,
  type Exchange,
  type Head,
  isBodiless,
  noAnswer,
  type OpenAnswer,
} from './exchange.js';
import { bytesNow } from './request-body.js';

const isIterable = (value: unknown) => typeof Object(value)[Symbol.asyncIterator] === 'function';

function checkResponse(response: unknown): void {
  const given = isRevoked(response) ? {} : Object(response);
  const { status, headers, body } = given as Partial<Response>;
  const isResponse =
    typeof status === 'number' &&
    typeof Object(headers)[Symbol.iterator] === 'function' &&
    (body === null || isIterable(body));
  if (!isResponse) throw invalidArgType('the result of options.fetch()', 'a Response', response);
}

export class FetchExchange implements Exchange {
  readonly #origin: string;
  readonly #fetch: typeof fetch;
  readonly #closing = new AbortController();

  constructor(base: URL, given: typeof fetch) {
    this.#origin = base.origin;
    this.#fetch = given;
  }

  async open({ method, path, fields, body, signal, timeout }: Call): Promise<OpenAnswer> {
    const waiting = new Waiting([signal, this.#closing.signal], timeout);
    try {
      const response = await waiting.until(() =>
        this.#fetch(`${this.#origin}${path}`, {
          method,
          headers: fields,
          ...(body && { body: bytesNow(body) }),
          signal: waiting.signal,
        }),
      );
      checkResponse(response);
      const { status } = response;
      const received = Object.fromEntries(response.headers);
      const length = isBodiless(method, status) ? 0 : lengthOf(received);
      return { status, fields: received, body: new FetchedBody(response, length, waiting) };
    } catch (error) {
      waiting.end();
      throw error;
    }
  }

  close(): void {
    this.#closing.abort();
  }
}

/** The ends of a call. */
class Waiting {
  readonly #end: FirstAbort;
  readonly #timeout: number;

  constructor(signals: readonly (AbortSignal | undefined)[], timeout: number) {
    this.#end = new FirstAbort(signals);
    this.#timeout = timeout;
  }

  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** The result of `work`, unless the call ends before, or it takes longer than the timeout: whatever fetch() does. */
  async until<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this;
    if (signal.aborted) throw reasonOf(signal);
    const limit = new TimeLimit(this.#timeout, () =>
      this.#end.end(noAnswer(this.#timeout)),
    ).unref();
    try {
      return await unlessAborted(signal, work());
    } finally {
      limit.clear();
    }
  }

  /** Ends the request, unless it has ended. */
  end(): void {
    this.#end.end();
  }
}

// fetch() may have decoded the bytes.
function lengthOf(fields: Head['fields']): number | undefined {
  const { 'content-length': length = '', 'content-encoding': encoding } = fields;
  return encoding === undefined && /^\d{1,20}$/.test(length) ? Number(length) : undefined;
}

class FetchedBody implements AnswerBody {
  readonly length: number | undefined;
  readonly #chunks: AsyncIterator<Uint8Array> | undefined;
  readonly #waiting: Waiting;

  constructor(response: Response, length: number | undefined, waiting: Waiting) {
    this.length = length;
    this.#waiting = waiting;
    const { body } = response as { readonly body: AsyncIterable<Uint8Array> | null };
    this.#chunks = body?.[Symbol.asyncIterator]();
  }

  async *pieces(): AsyncGenerator<Uint8Array, undefined> {
    const chunks = this.#chunks;
    try {
      while (chunks) {
        const { value, done } = await this.#waiting.until(() => chunks.next());
        if (done) return undefined;
        if (!types.isUint8Array(value))
          throw invalidArgType('a chunk of the body of options.fetch()', 'a Uint8Array', value);
        yield owned(value);
      }
      return undefined;
    } finally {
      this.cancel();
    }
  }

  whole(limit: number, tooLong: (bytes: number) => Error): Promise<Uint8Array> {
    const { length = 0 } = this;
    if (length <= limit) return gathered(this.pieces(), limit, tooLong);
    this.cancel();
    return Promise.reject(tooLong(length));
  }

  cancel(): void {
    this.#waiting.end();
    this.#chunks?.return?.().catch(() => {});
  }
}
