// The pages of a list, as a client reads them.
import type { checkList } from './client-options.js';
import { type Connection, errorOf } from './connection.js';
import { ObjectError } from './errors.js';
import { lengthIn } from './get.js';
import { contentsOf, textsOf } from './xml.js';

/** What a list has. */
export interface ListOptions {
  /** Only keys that begin with it. */
  readonly prefix?: string;
  /** Keys that have it after the prefix appear as one entry, up to it: `'/'` lists a folder. */
  readonly delimiter?: string;
  /** Only keys after this one. */
  readonly startAfter?: string;
  /** The most entries of a request. Default: 1000, which is also the most. */
  readonly pageSize?: number;
  readonly signal?: AbortSignal;
}

/** An entry of a list. */
export type ObjectEntry =
  | {
      readonly type: 'object';
      readonly key: string;
      /** Bytes. */
      readonly size: number;
      readonly etag: string;
      readonly lastModified: Date;
    }
  | { readonly type: 'prefix'; readonly key: string };

/** The entries of a bucket in the order of their bytes. Each page has its prefixes after its objects. */
export async function* listEntries(
  connection: Connection,
  path: string,
  { prefix, delimiter, startAfter, pageSize, signal }: ReturnType<typeof checkList>,
): AsyncGenerator<ObjectEntry> {
  let token: string | undefined;
  do {
    const query = new URLSearchParams({ 'list-type': '2', 'encoding-type': 'url' });
    if (prefix !== undefined) query.set('prefix', prefix);
    if (delimiter !== undefined) query.set('delimiter', delimiter);
    if (startAfter !== undefined) query.set('start-after', startAfter);
    if (pageSize !== undefined) query.set('max-keys', String(pageSize));
    if (token !== undefined) query.set('continuation-token', token);
    const call = { method: 'GET', path: `${path}?${query}`, fields: {}, signal };
    const answer = await connection.send(await connection.way(), call);
    if (answer.status !== 200) throw errorOf(answer, undefined);
    const xml = Buffer.from(answer.body).toString();
    const entries = [...contentsOf(xml, 'Contents').map(objectIn), ...prefixesIn(xml)];
    yield* entries;
    [token] = textsOf(xml, 'NextContinuationToken');
  } while (token !== undefined);
}

function decoded(text = ''): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ObjectError('InternalError', { detail: 'the list has a malformed key' });
  }
}

function objectIn(xml: string): ObjectEntry {
  const [key] = textsOf(xml, 'Key');
  const [size = ''] = textsOf(xml, 'Size');
  const [etag = ''] = textsOf(xml, 'ETag');
  const [date = ''] = textsOf(xml, 'LastModified');
  const lastModified = new Date(date);
  return { type: 'object', key: decoded(key), size: lengthIn(size), etag, lastModified };
}

const prefixesIn = (xml: string): ObjectEntry[] =>
  contentsOf(xml, 'CommonPrefixes').map((each) => ({
    type: 'prefix',
    key: decoded(textsOf(each, 'Prefix')[0]),
  }));
