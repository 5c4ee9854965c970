// The names of objects: a key 'a/b' of the bucket 'x' is the file x/a/b below the root.
import { toUSVString } from 'node:util';
import { ObjectError, type ObjectErrorCode } from './errors.js';

const MAX_KEY = 1024; // bytes, as S3 has it
const MAX_NAME = 255; // bytes of a file's name
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

type Wrong = readonly [code: ObjectErrorCode, why?: string];

/** Why a text is no key. Undefined if it is one. */
export function wrongKey(key: string): Wrong | undefined {
  if (key.includes('\0')) return ['InvalidArgument', 'a key contains no NUL'];
  if (toUSVString(key) !== key) return ['InvalidArgument', 'a key has no lone surrogates'];
  if (Buffer.byteLength(key) > MAX_KEY) return ['KeyTooLongError'];
  for (const name of key.split('/')) {
    if (name === '' || name === '.' || name === '..')
      return ['InvalidArgument', "a key has no empty parts, and none that are '.' or '..'"];
    if (Buffer.byteLength(name) > MAX_NAME) return ['KeyTooLongError'];
  }
  return undefined;
}

/** What a request is about. */
export interface Target {
  /** Empty: the server itself. */
  readonly bucket: string;
  /** Empty: the bucket itself. */
  readonly key: string;
  readonly query: URLSearchParams;
}

/** The origin of a target in absolute form, as clients of a proxy send it: RFC 9112, 3.2.2. */
const ORIGIN = /^https?:\/\/[^/?#]*/i;

/** Decodes the target of a request: `/bucket/key?query`. */
export function targetOf(target: string): Target {
  const url = target.startsWith('/')
    ? target
    : target.replace(ORIGIN, '').replace(/^(?=\?|$)/, '/');
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
  if (!path.startsWith('/')) throw new ObjectError('InvalidURI');
  const slash = path.indexOf('/', 1);
  const bucket = decoded(slash < 0 ? path.slice(1) : path.slice(1, slash));
  const key = slash < 0 ? '' : decoded(path.slice(slash + 1));
  if (bucket !== '' && !BUCKET.test(bucket)) throw new ObjectError('InvalidBucketName');
  if (bucket === '' && key !== '') throw new ObjectError('InvalidURI');
  const wrong = key === '' ? undefined : wrongKey(key);
  if (wrong) throw new ObjectError(wrong[0], { detail: wrong[1] });
  return { bucket, key, query };
}

/** A number of a query or a header, in decimal digits. */
export function wholeNumber(name: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new ObjectError('InvalidArgument', { detail: `${name} is a number in decimal digits` });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ObjectError('InvalidURI');
  }
}

/** Encodes a key for a URL. */
export const encodedKey = (key: string): string => key.split('/').map(encodeURIComponent).join('/');
