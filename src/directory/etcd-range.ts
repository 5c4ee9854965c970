// Reads all keys of a range of etcd, in pages of one revision.
import type { EtcdClient } from './etcd-client.js';
import { HttpError } from './http.js';
import { MAX_LIST, TooLongError } from './records.js';

/** A key of etcd. Its key and its value are in base64. */
export interface EtcdKey {
  readonly key: string;
  readonly value?: string;
  readonly lease?: string;
  readonly mod_revision?: string;
}

/** The first key, and the key after the last one, in base64. */
export interface EtcdRange {
  readonly key: string;
  readonly range_end: string;
}

interface Page {
  readonly header?: { readonly revision?: string };
  readonly kvs?: readonly EtcdKey[];
  readonly more?: boolean;
}

// Values of etcd have at most 1.5 MiB, unless it is configured otherwise, so that the first page is short enough to be read.
const FIRST_PAGE = 32; // keys
const MAX_PAGE = 16_384; // keys
// Pages grow while they are this short.
const SHORT_PAGE = 2 * 2 ** 20; // characters
const BASE64 = 4 / 3;
const MAX_ATTEMPTS = 3;

/**
 * Calls `each` with every key of a range, in their order.
 *
 * @param restart is called before the keys of another revision come, because etcd has compacted the first one.
 * @throws TooLongError if the range has more bytes than MAX_LIST.
 */
export async function eachKey(
  client: EtcdClient,
  range: EtcdRange,
  each: (key: EtcdKey) => void,
  restart: () => void,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await readPages(client, range, each);
    } catch (error) {
      if (!isWithoutRevision(error) || attempt === MAX_ATTEMPTS) throw error;
      restart();
    }
  }
}

async function readPages(
  client: EtcdClient,
  range: EtcdRange,
  each: (key: EtcdKey) => void,
): Promise<void> {
  let revision: string | undefined;
  let { key } = range;
  let limit = FIRST_PAGE;
  for (let all = 0; ; ) {
    let page: Page;
    try {
      page = await client.call<Page>('kv/range', { ...range, key, revision, limit });
    } catch (error) {
      if (!(error instanceof TooLongError) || limit === 1) throw error;
      limit = Math.ceil(limit / 8);
      continue;
    }
    const { kvs = [] } = page;
    let length = 0;
    for (const one of kvs) {
      length += one.key.length + (one.value ?? '').length;
      each(one);
    }
    const last = kvs.at(-1);
    if (!page.more || last === undefined) return;
    all += length;
    if (all > MAX_LIST * BASE64) throw new TooLongError();
    revision ??= page.header?.revision;
    key = Buffer.concat([Buffer.from(last.key, 'base64'), Buffer.of(0)]).toString('base64');
    if (length < SHORT_PAGE) limit = Math.min(4 * limit, MAX_PAGE);
  }
}

// Revisions are compacted, and another member, or the cluster after its restoration, may not have one yet.
const isWithoutRevision = (error: unknown): boolean =>
  error instanceof HttpError &&
  /revision has been compacted|is a future revision/.test(error.message);
