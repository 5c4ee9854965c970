// @ts-check
// What server.mjs needs of HTTP.
import { FabricError } from 'libfabric';

/** @typedef {import('node:http').ServerResponse} Response */

/** A request that the server refuses. */
export class Refusal extends Error {
  /** @param {number} status @param {unknown} reason */
  constructor(status, reason) {
    super(reason instanceof Error ? reason.message : String(reason));
    this.status = status;
  }
}

/** @param {{ size: number, mtimeMs: number, ino: number }} stats */
export const etagOf = ({ size, mtimeMs, ino }) =>
  `"${[ino, mtimeMs, size].map((n) => n.toString(36)).join('-')}"`;

/** @param {string | undefined} header @param {number} size */
export function rangeOf(header, size) {
  if (header === undefined) return { start: 0, end: size };
  const [, start = 0, last = 0] = /^bytes=(\d+)-(\d+)$/.exec(header)?.map(Number) ?? [0, 1, 0];
  if (start > last || last >= size) throw new Refusal(416, `no such range of ${size} bytes`);
  return { start, end: last + 1 };
}

/**
 * A signal that ends the work for a client that closes its connection.
 *
 * @param {Response} response
 * @returns {AbortSignal}
 */
export function untilClosed(response) {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  return closed.signal;
}

/** @param {any} error */
function refusalOf(error) {
  if (error.code === 'ENOENT') return new Refusal(404, 'no such object');
  if (error.code === 'FI_EKEYREJECTED') return new Refusal(400, 'the token has expired');
  if (FabricError.is(error)) return new Refusal(502, error);
  console.error(error);
  return new Refusal(500, 'the server has failed');
}

/** @param {Response} response @param {unknown} error */
export function refuse(response, error) {
  if (response.headersSent || response.destroyed) return response.destroy();
  const { status, message } = error instanceof Refusal ? error : refusalOf(error);
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`${message}\n`);
}
