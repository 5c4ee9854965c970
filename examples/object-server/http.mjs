// @ts-check
// The parts of HTTP that server.mjs needs: conditions and ranges (RFC 9110, 13 and 14), and refusals.
import fresh from 'fresh';
import { FabricError } from 'libfabric';
import { combineRanges, parse } from 'range-parser';

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @typedef {{ size: number, mtimeMs: number, ino: number }} Stats */

/** A request that the server refuses. */
export class Refusal extends Error {
  /** @param {number} status @param {unknown} reason @param {Record<string, string>} [headers] */
  constructor(status, reason, headers = {}) {
    super(reason instanceof Error ? reason.message : String(reason));
    this.status = status;
    this.headers = headers;
  }
}

/** @param {Stats} stats */
const etagOf = ({ size, mtimeMs, ino }) =>
  `"${[ino, mtimeMs, size].map((n) => n.toString(36)).join('-')}"`;

/** The validator fields of a version of an object. @param {Stats} stats */
export const validatorsOf = (stats) => ({
  etag: etagOf(stats),
  'last-modified': new Date(stats.mtimeMs).toUTCString(),
});

/** @param {string} list of If-Match or If-None-Match @param {string | undefined} etag */
function names(list, etag) {
  if (etag === undefined) return false;
  /** @type {string[]} */
  const tags = list.match(/(W\/)?"[^"]*"/g) ?? [];
  return list.trim() === '*' || tags.includes(etag);
}

/**
 * Refuses a request whose conditions do not hold. Those with which a GET asks for a newer version are isFresh()'s.
 *
 * @param {IncomingMessage} request
 * @param {Stats | undefined} stats of the object, if there is one
 */
export function checkConditions({ method, headers }, stats) {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  const etag = stats && etagOf(stats);
  const since = Date.parse(headers['if-unmodified-since'] ?? '');
  const changed = stats !== undefined && Math.floor(stats.mtimeMs / 1000) * 1000 > since;
  if (match === undefined ? changed : !names(match, etag)) {
    throw new Refusal(412, 'the object has changed');
  }
  if (method === 'PUT' && noneMatch !== undefined && names(noneMatch.replaceAll('W/', ''), etag)) {
    throw new Refusal(412, 'there is such an object');
  }
}

/** Whether the client of a GET already has this version. @param {IncomingMessage} request @param {Stats} stats */
export function isFresh({ headers }, stats) {
  const { 'if-none-match': noneMatch, 'if-modified-since': since } = headers;
  return fresh({ 'if-none-match': noneMatch, 'if-modified-since': since }, validatorsOf(stats));
}

/**
 * The part of an object that a GET asks for. Undefined for all of it, also if it asks for several parts.
 *
 * @param {IncomingMessage} request
 * @param {Stats} stats
 * @returns {{ start: number, end: number } | undefined} `end` is the last byte.
 */
export function rangeOf({ headers }, stats) {
  const range = headers.range;
  const version = /** @type {string | undefined} */ (headers['if-range']);
  const { etag, 'last-modified': date } = validatorsOf(stats);
  if (range === undefined || (version !== undefined && ![etag, date].includes(version))) {
    return undefined;
  }
  const { type, code, ranges } = parse(stats.size, range);
  if (type !== 'bytes' || (code & 1) !== 0) return undefined; // a malformed range is ignored
  const [first, ...others] = combineRanges(ranges);
  if (first === undefined && code !== 0) {
    const headers = { 'content-range': `bytes */${stats.size}` };
    throw new Refusal(416, `no such range of ${stats.size} bytes`, headers);
  }
  return others.length === 0 ? first : undefined;
}

/**
 * A signal that ends the work for a client that closes its connection.
 *
 * @param {ServerResponse} response
 * @returns {AbortSignal}
 */
export function untilClosed(response) {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  return closed.signal;
}

/** @type {Record<string, [status: number, reason: string]>} */
const REFUSALS = {
  ENOENT: [404, 'no such object'],
  ELOOP: [404, 'no such object'], // a symbolic link
  ENXIO: [404, 'no such object'], // a socket
  ENAMETOOLONG: [400, 'the name is too long'],
  EACCES: [403, 'the server may not do that'],
  EPERM: [403, 'the server may not do that'],
  EMFILE: [503, 'too many requests'],
  ENFILE: [503, 'too many requests'],
  ENOSPC: [507, 'the file system is full'],
  EDQUOT: [507, 'the file system is full'],
  FI_EKEYREJECTED: [400, 'the token has expired'],
};

/** @param {any} error */
function refusalOf(error) {
  const known = REFUSALS[error.code];
  if (known !== undefined) return new Refusal(...known);
  if (FabricError.is(error)) return new Refusal(502, error);
  console.error(error);
  return new Refusal(500, 'the server has failed');
}

/** @param {ServerResponse} response @param {unknown} error */
export function refuse(response, error) {
  if (response.headersSent || response.destroyed) return response.destroy();
  const { status, message, headers } = error instanceof Refusal ? error : refusalOf(error);
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  response.writeHead(status, { 'content-type': 'text/plain', ...headers }).end(`${message}\n`);
}
