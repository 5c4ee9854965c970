// The pages of a list, as a client reads them.

import {
  dateIn,
  documentIn,
  elementsIn,
  errorOf,
  invalidAnswer,
  lengthIn,
  saidIn,
  textIn,
} from './answers.js';
import type { checkList } from './client-options.js';
import type { Connection } from './connection.js';

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
  const tokens = new Tokens();
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
    const xml = documentIn(answer, 'ListBucketResult');
    for (const entry of entriesIn(xml)) {
      yield entry;
      connection.check(signal);
    }
    token = nextIn(xml);
    if (token !== undefined) tokens.add(token);
  } while (token !== undefined);
}

/** The token of the next page. Undefined if the list ends here. */
function nextIn(xml: string): string | undefined {
  const isTruncated = textIn(xml, 'IsTruncated');
  if (isTruncated === 'false') return undefined;
  if (isTruncated === 'true') return textIn(xml, 'NextContinuationToken');
  throw invalidAnswer('the answer does not say whether the list is whole');
}

/** Finds tokens that repeat, of which it remembers one: Brent's algorithm. A list of them would never end. */
class Tokens {
  #remembered: string | undefined;
  #count = 0;

  /** @throws ObjectError InvalidAnswer. */
  add(token: string): void {
    if (token === this.#remembered) throw invalidAnswer('the pages of the list repeat');
    this.#count += 1;
    if ((this.#count & (this.#count - 1)) === 0) this.#remembered = token;
  }
}

function entriesIn(xml: string): ObjectEntry[] {
  const isEncoded = saidIn(xml, 'EncodingType') === 'url';
  const keyOf = (text: string) => (isEncoded ? decoded(text) : text);
  const objects = elementsIn(xml, 'Contents').map(
    (each): ObjectEntry => ({
      type: 'object',
      key: keyOf(textIn(each, 'Key')),
      size: lengthIn(textIn(each, 'Size')),
      etag: textIn(each, 'ETag'),
      lastModified: dateIn(textIn(each, 'LastModified')),
    }),
  );
  const prefixes = elementsIn(xml, 'CommonPrefixes').map(
    (each): ObjectEntry => ({ type: 'prefix', key: keyOf(textIn(each, 'Prefix')) }),
  );
  return [...objects, ...prefixes];
}

/** A key as `encoding-type=url` has it. Other servers write a space as `+`. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw invalidAnswer('the list has a malformed key');
  }
}
