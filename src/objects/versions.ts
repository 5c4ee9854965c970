// Versions of objects, and the conditions and ranges of requests: RFC 9110, 13 and 14.
import { ObjectError } from './errors.js';

/** Header fields by their names in lower case. */
export type Fields = Readonly<Record<string, string | undefined>>;

/** What distinguishes the versions of an object. No two versions have the same `modified`: see ObjectFolder. */
export interface Version {
  /** Bytes. */
  readonly size: number;
  /** Microseconds since 1970. */
  readonly modified: number;
  readonly inode: number;
}

export const etagOf = ({ inode, modified, size }: Version): string =>
  `"${inode.toString(36)}-${modified.toString(36)}-${size.toString(36)}"`;

export const dateOf = ({ modified }: Version): string => new Date(modified / 1000).toUTCString();

/** A date of HTTP, in milliseconds. NaN for another text, which counts as none: Date.parse() takes `1` for a year. */
const dateIn = (text = ''): number =>
  /^[a-z]{3,9},? /i.test(text) ? Date.parse(text) : Number.NaN;

/** The version in whole seconds, as dates of HTTP have it. In milliseconds. */
export const secondsOf = ({ modified }: Version): number => Math.floor(modified / 1e6) * 1000;

function names(list: string, etag: string | undefined): boolean {
  if (etag === undefined) return false;
  if (list.trim() === '*') return true;
  const tags: string[] = list.match(/(W\/)?"[^"]*"/g) ?? [];
  return tags.includes(etag) || list.trim() === etag.slice(1, -1); // S3 takes ETags without quotation marks
}

const weak = (list: string): string => list.replaceAll('W/', '');

/** Refuses a request unless the object is the version that the request expects. @param version undefined: none. */
export function checkExpected(fields: Fields, version: Version | undefined): void {
  const match = fields['if-match'];
  if (version === undefined && match !== undefined) throw new ObjectError('NoSuchKey');
  const since = dateIn(fields['if-unmodified-since']);
  const changed = version !== undefined && secondsOf(version) > since;
  const fails = match === undefined ? changed : !names(match, version && etagOf(version));
  if (fails) throw new ObjectError('PreconditionFailed');
}

/** Refuses a change of an object unless its conditions hold. @param version that would be replaced. */
export function checkChange(fields: Fields, version: Version | undefined): void {
  checkExpected(fields, version);
  const noneMatch = fields['if-none-match'];
  if (noneMatch !== undefined && names(weak(noneMatch), version && etagOf(version)))
    throw new ObjectError('PreconditionFailed', { detail: 'there is such an object' });
}

/** Whether the client of a GET already has this version. */
export function isFresh(fields: Fields, version: Version): boolean {
  const noneMatch = fields['if-none-match'];
  if (noneMatch !== undefined) return names(weak(noneMatch), etagOf(version));
  return secondsOf(version) <= dateIn(fields['if-modified-since']);
}

/** A part of an object: `end` is that after the last byte. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * The part of an object that a GET asks for. Undefined for all of it, also if it asks for several parts, or in a way that
 * is malformed, or of another version.
 */
export function rangeOf(fields: Fields, version: Version): Range | undefined {
  const { range, 'if-range': only } = fields;
  if (range === undefined) return undefined;
  if (only !== undefined && only !== etagOf(version) && only !== dateOf(version)) return undefined;
  // No two repetitions of white space follow each other: a mismatch would take quadratic time.
  const found = /^bytes=\s*(?:(\d+)\s*-(?:\s*(\d+))?|-\s*(\d+))$/i.exec(range.trim());
  if (found === null) return undefined;
  const [, first, last = '', suffix] = found;
  const { size } = version;
  if (first === undefined) {
    const length = Math.min(Number(suffix), size);
    return checkedRange({ start: size - length, end: size }, size);
  }
  const end = last === '' ? size : Math.min(Number(last) + 1, size);
  if (last !== '' && Number(last) < Number(first)) return undefined;
  return checkedRange({ start: Number(first), end }, size);
}

function checkedRange(range: Range, size: number): Range {
  if (range.start < range.end) return range;
  const fields = { 'content-range': `bytes */${size}` };
  throw new ObjectError('InvalidRange', { detail: `the object has ${size} bytes`, fields });
}
