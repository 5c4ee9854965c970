// What programs give as URLs, requests, responses, headers and tokens.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { invalidArgType, invalidArgValue } from '../base/errors.js';
import { isArray, isRevoked } from '../base/objects.js';
import type { AnyHeaders, WithToken } from './headers.js';

type Members = Readonly<Record<string, unknown>>;

const hasMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !isRevoked(value);

/** Fastify has the message of Node.js as the member `raw`. */
const unwrapped = (message: unknown): unknown =>
  hasMembers(message) && 'raw' in message ? message.raw : message;

const KINDS = 'one of node:http, node:http2, Express or Fastify';

/** Checks for a request, and returns that of Node.js. */
export function checkRequest(request: unknown): IncomingMessage | Http2ServerRequest {
  const raw = unwrapped(request);
  if (hasMembers(raw) && hasMembers(raw.headers)) return raw as unknown as IncomingMessage;
  throw invalidArgType('request', KINDS, request);
}

/** Checks for a response, and returns that of Node.js. */
export function checkResponse(response: unknown): ServerResponse | Http2ServerResponse {
  const raw = unwrapped(response);
  if (hasMembers(raw) && typeof raw.setHeader === 'function')
    return raw as unknown as ServerResponse;
  throw invalidArgType('response', KINDS, response);
}

export function checkHeaders(headers: unknown): AnyHeaders {
  if (hasMembers(headers) && !isArray(headers)) return headers as AnyHeaders;
  throw invalidArgType('headers', 'an object or a Headers', headers);
}

/** Checks tokens: each is a text, or an object that has one. */
export function checkTokens(tokens: unknown): readonly (string | WithToken)[] {
  if (!isArray(tokens)) throw invalidArgType('tokens', 'an array of tokens', tokens);
  for (const [i, each] of tokens.entries()) {
    if (typeof each === 'string' || (hasMembers(each) && typeof each.token === 'string')) continue;
    throw invalidArgType(`tokens[${i}]`, 'a string, an offer or a stream', each);
  }
  return tokens as (string | WithToken)[];
}

/** The origin of a URL. @throws TypeError ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE. */
export function originOf(url: unknown): string {
  if (typeof url !== 'string' && !(hasMembers(url) && typeof url.href === 'string'))
    throw invalidArgType('url', 'a string or a URL', url);
  const text = typeof url === 'string' ? url : (url.href as string);
  if (!URL.canParse(text)) throw invalidArgValue('url', 'is malformed');
  return new URL(text).origin;
}

/** The entries of the headers that fetch() takes. */
export function entriesOf(headers: unknown): Record<string, string> {
  if (headers === undefined) return {};
  if (!hasMembers(headers)) throw invalidArgType('init.headers', 'an object', headers);
  if (!(Symbol.iterator in headers)) return { ...headers } as Record<string, string>;
  const pairs = Array.from(headers as unknown as Iterable<unknown>);
  if (!pairs.every(hasMembers)) throw invalidArgValue('init.headers', 'must have pairs of texts');
  return Object.fromEntries(pairs as unknown as [string, string][]);
}
