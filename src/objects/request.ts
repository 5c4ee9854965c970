// A request and its answer, whatever brings them: node:http, or messages of libfabric/net.
import type { Origin } from '../base/origin.js';
import type { Fields } from './versions.js';

export interface ObjectRequest {
  readonly method: string;
  /** The path and the query, encoded. */
  readonly url: string;
  readonly fields: Fields;
  readonly body: AsyncIterable<Uint8Array> | Uint8Array;
  readonly connection: Origin;
  /** The host that the connection comes from: sourceOf(). */
  readonly source: string;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
  /** Memory for the content of a short object, from INLINED bytes on: the answer needs no copy of it then. */
  room?(): Uint8Array;
  /** Runs a part of the request in which no byte travels with it, because the fabric moves them. */
  quietly<T>(work: () => Promise<T>): Promise<T>;
}

/** The bytes [start, end) of an open file. Whoever sends them closes it. */
export interface FilePart {
  readonly fd: number;
  readonly start: number;
  readonly end: number;
}

export interface ObjectResponse {
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string | FilePart | undefined;
}

export const isFilePart = (body: ObjectResponse['body']): body is FilePart =>
  typeof body === 'object' && 'fd' in body;

/** All bytes of a short body. */
export async function wholeBody(
  { body }: ObjectRequest,
  limit: number,
): Promise<Buffer | undefined> {
  if (body instanceof Uint8Array) return body.length > limit ? undefined : Buffer.from(body);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
