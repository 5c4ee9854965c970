// A request and its answer, whatever brings them: node:http, or messages of libfabric/net.
import { countAsHandled } from '../base/cancellation.js';
import { Deferred } from '../base/deferred.js';
import type { Origin } from '../base/origin.js';
import type { Arriving } from './arriving.js';
import type { Budget } from './budget.js';
import { ObjectError } from './errors.js';
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

/**
 * Works with all bytes of a body, when one of the places is free.
 *
 * @param limit the most bytes.
 * @param arriving counts the bytes until then.
 * @throws ObjectError EntityTooLarge; SlowDown if others need the memory.
 */
export async function withWholeBody<T>(
  { body }: ObjectRequest,
  limit: number,
  arriving: Arriving,
  places: Budget,
  work: (body: Buffer) => Promise<T>,
): Promise<T> {
  const ended = new Deferred<never>();
  countAsHandled(ended.promise);
  const arrival = { crowdedOut: () => ended.reject(new ObjectError('SlowDown')) };
  let whole: Buffer;
  try {
    const count = (bytes: number) => {
      if (bytes > limit) throw new ObjectError('EntityTooLarge', { detail: 'the body' });
      arriving.part(arrival, bytes);
    };
    whole = await collected(body instanceof Uint8Array ? iterate([body]) : body, count, ended);
    await placeOf(places, ended);
  } finally {
    arriving.whole(arrival);
  }
  try {
    return await work(whole);
  } finally {
    places.give(1);
  }
}

export async function* iterate<T>(values: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T> {
  yield* values;
}

async function collected(
  body: AsyncIterable<Uint8Array>,
  count: (bytes: number) => void,
  ended: Deferred<never>,
): Promise<Buffer> {
  const all: Uint8Array[] = [];
  let length = 0;
  for (const chunks = body[Symbol.asyncIterator](); ; ) {
    const { done, value } = await Promise.race([chunks.next(), ended.promise]);
    if (done) return Buffer.concat(all);
    length += value.length;
    count(length);
    all.push(value);
  }
}

async function placeOf(places: Budget, ended: Deferred<never>): Promise<void> {
  const waiting = places.take(1);
  if (waiting === undefined) return;
  try {
    await Promise.race([waiting, ended.promise]);
  } catch (error) {
    if (!places.cancel(waiting)) places.give(1);
    throw error;
  }
}
