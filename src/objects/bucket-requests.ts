// Requests about a bucket, and about all buckets.
import { ObjectError } from './errors.js';
import { type Target, wholeNumber } from './keys.js';
import { listPage } from './listing.js';
import type { Store } from './object-requests.js';
import { INLINED } from './protocol.js';
import type { ObjectRequest, ObjectResponse } from './request.js';
import type { Uploads } from './uploads.js';
import { documentOf, type Elements, escaped } from './xml.js';

const MOST = 1000; // keys and prefixes of a page, or buckets
// Bytes of the XML of a page. A client that does not read it holds no more memory than with an object.
const MAX_PAGE = INLINED - 16 * 1024; // without what is not an entry
const ENTRY = 256; // bytes of an entry without its key

export const xmlResponse = (root: string, elements: Elements, status = 200): ObjectResponse => ({
  status,
  fields: { 'content-type': 'application/xml' },
  body: documentOf(root, elements),
});

/** ListBuckets. */
export async function listBuckets({ query }: Target, { folder }: Store): Promise<ObjectResponse> {
  const token = query.get('continuation-token');
  const after = token === null ? '' : tokenText(token);
  const prefix = query.get('prefix') ?? '';
  const limit = limitOf(query, 'max-buckets');
  const all = (await folder.buckets()).filter((name) => name > after && name.startsWith(prefix));
  const names = all.slice(0, limit);
  const last = names.length < all.length ? names.at(-1) : undefined;
  const Bucket = names.map((Name) => ({ Name, CreationDate: new Date(0) }));
  return xmlResponse('ListAllMyBucketsResult', {
    Owner: { ID: 'owner' },
    Buckets: { Bucket },
    ContinuationToken: last === undefined ? undefined : tokenOf(last),
  });
}

export async function bucketRequest(
  { method }: ObjectRequest,
  target: Target,
  store: Store,
  uploads: Uploads,
): Promise<ObjectResponse> {
  const { bucket, query } = target;
  const { folder } = store;
  switch (method) {
    case 'HEAD':
      folder.checkBucket(bucket);
      return { status: 200, fields: {} };
    case 'PUT':
      await folder.createBucket(bucket);
      await uploads.endAll(bucket); // a program may have removed the one before
      return { status: 200, fields: { location: `/${bucket}` } };
    case 'DELETE':
      await folder.deleteBucket(bucket);
      await uploads.endAll(bucket);
      return { status: 204, fields: {} };
    case 'GET':
      if (!query.has('location')) return listObjects(target, store);
      folder.checkBucket(bucket);
      return xmlResponse('LocationConstraint', {});
    default:
      throw new ObjectError('MethodNotAllowed');
  }
}

function limitOf(query: URLSearchParams, name: 'max-keys' | 'max-buckets'): number {
  const text = query.get(name);
  return text === null ? MOST : Math.min(wholeNumber(name, text), MOST);
}

function tokenText(token: string): string {
  const text = Buffer.from(token, 'base64url').toString();
  if (tokenOf(text) !== token)
    throw new ObjectError('InvalidArgument', { detail: 'the continuation token is malformed' });
  return text;
}

/** The value of a parameter that has few. Undefined if the request has none. */
function oneOf<T extends string>(query: URLSearchParams, name: string, value: T): T | undefined {
  const text = query.get(name);
  if (text === null || text === value) return text === null ? undefined : value;
  throw new ObjectError('InvalidArgument', { detail: `${name} is ${value}` });
}

const tokenOf = (text: string): string => Buffer.from(text).toString('base64url');

/** ListObjectsV2, and ListObjects. */
async function listObjects({ bucket, query }: Target, { folder }: Store): Promise<ObjectResponse> {
  const isSecond = oneOf(query, 'list-type', '2') !== undefined;
  const encoding = oneOf(query, 'encoding-type', 'url');
  const prefix = query.get('prefix') ?? '';
  const delimiter = query.get('delimiter') ?? '';
  const token = query.get('continuation-token');
  const start = query.get(isSecond ? 'start-after' : 'marker') ?? '';
  const after = isSecond && token !== null ? tokenText(token) : start;
  const limit = limitOf(query, 'max-keys');
  const encode = encoding === 'url' ? encodeKey : (text: string) => text;
  const bytesOf = (key: string) => ENTRY + Buffer.byteLength(escaped(encode(key)));
  const which = { prefix, delimiter, after, limit };
  const page = await listPage(folder, bucket, { ...which, room: MAX_PAGE, bytesOf });
  const { next } = page;
  return xmlResponse('ListBucketResult', {
    Name: bucket,
    Prefix: encode(prefix),
    ...(delimiter && { Delimiter: encode(delimiter) }),
    MaxKeys: limit,
    EncodingType: encoding,
    IsTruncated: next !== undefined,
    ...(isSecond
      ? {
          KeyCount: page.objects.length + page.prefixes.length,
          ContinuationToken: token ?? undefined,
          NextContinuationToken: next === undefined ? undefined : tokenOf(next),
          StartAfter: start === '' ? undefined : encode(start),
        }
      : { Marker: encode(start), NextMarker: next === undefined ? undefined : encode(next) }),
    Contents: page.objects.map(({ key, size, etag, lastModified }) => ({
      Key: encode(key),
      LastModified: lastModified,
      ETag: etag,
      Size: size,
      StorageClass: 'STANDARD',
    })),
    CommonPrefixes: page.prefixes.map((each) => ({ Prefix: encode(each) })),
  } as Elements);
}

const encodeKey = (text: string): string => encodeURIComponent(text).replaceAll('%2F', '/');
