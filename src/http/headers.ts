import { isArray } from '../base/objects.js';

/** The header of a request or a response with the address of an engine. */
export const ADDRESS = 'x-libfabric-address';
/** The header of a request or a response with tokens, separated by commas. */
export const TOKEN = 'x-libfabric-token';

/** What has a token: an offer, or a stream of an engine. */
export interface WithToken {
  readonly token: string;
}

/** The headers of a response of the web. */
export interface WebHeaders {
  /** The value of a header. Null if there is none. */
  get(name: string): string | null;
}

/** The headers of a message: of node:http, or of the web. */
export type AnyHeaders =
  | WebHeaders
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export function headerOf(headers: AnyHeaders, name: string): string | undefined {
  const value = isWebHeaders(headers) ? headers.get(name) : headers[name];
  if (typeof value === 'string') return value;
  return isArray(value) ? value.filter((each) => typeof each === 'string').join(',') : undefined;
}

const isWebHeaders = (headers: AnyHeaders): headers is WebHeaders =>
  typeof headers.get === 'function';

/** The tokens of a message. */
export function tokensOf(headers: AnyHeaders): string[] {
  const text = headerOf(headers, TOKEN) ?? '';
  return text
    .split(',')
    .map((token) => token.trim())
    .filter((token) => token !== '');
}

/** The text of a header with tokens. */
export const textOf = (tokens: readonly (string | WithToken)[]): string =>
  tokens.map((each) => (typeof each === 'string' ? each : each.token)).join(', ');
