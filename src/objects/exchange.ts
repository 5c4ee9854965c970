// How a client's requests get to the server and back: by node:http, by a function of the program, or over a channel.
import { connectionError } from '../net/errors.js';
import type { AnswerBody } from './answer-body.js';
import type { RequestBody } from './request-body.js';

/** A request of a client. */
export interface Call {
  readonly method: string;
  /** The path and the query, encoded. */
  readonly path: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly body?: RequestBody | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for the answer to begin, and for each of its bytes. */
  readonly timeout: number;
}

export const noAnswer = (timeout: number): Error =>
  connectionError('ETIMEDOUT', `no answer within ${timeout} ms`, 'read');

/** The beginning of an answer, whatever its status. */
export interface Head {
  readonly status: number;
  readonly fields: Readonly<Record<string, string | undefined>>;
}

/** An answer whose bytes are still to be read. */
export interface OpenAnswer extends Head {
  readonly body: AnswerBody;
}

/** An answer that was read. */
export interface Answer extends Head {
  readonly body: Uint8Array;
}

/** Whether an answer has no bytes, whatever its header fields say: RFC 9112, 6.3. */
export const isBodiless = (method: string, status: number | undefined): boolean =>
  method === 'HEAD' || status === 204 || status === 304;

export interface Exchange {
  open(call: Call): Promise<OpenAnswer>;
  close(): void;
}
