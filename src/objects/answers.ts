// What the answer to a client must have. A success without it is none: a proxy, or another service, may have answered.
import { ObjectError } from './errors.js';
import type { Answer, Head } from './exchange.js';
import { ERROR } from './protocol.js';
import type { Range } from './versions.js';
import { contentsOf, textsOf } from './xml.js';

/** The longest answer in bytes that is no object: an error, or XML. */
export const MAX_TEXT = 8 * 1024 * 1024;

/** Characters of what an answer says that get into an error. */
const MAX_SAID = 1024;

export const invalidAnswer = (
  detail: string,
  more: { readonly key?: string | undefined; readonly hint?: string } = {},
): ObjectError => new ObjectError('InvalidAnswer', { detail, ...more });

export const tooLongAnswer =
  ({ status }: Head) =>
  (): ObjectError =>
    invalidAnswer(`the answer with status ${status} has more than ${MAX_TEXT} bytes`);

const textOf = ({ body }: Answer): string => Buffer.from(body).toString().trim();

/** The text of the first element with a name. Undefined if there is none, or the document is malformed. */
export function saidIn(xml: string, name: string): string | undefined {
  if (!xml.startsWith('<')) return undefined;
  try {
    return textsOf(xml, name)[0];
  } catch {
    return undefined;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/** What a server says, in one line. */
const shown = (text: string | undefined): string | undefined =>
  text?.slice(0, MAX_SAID).replace(CONTROLS, ' ');

/** Codes of errors as S3 has them. */
const asCode = (text: string | undefined): string | undefined =>
  text !== undefined && /^[\w.-]{1,64}$/.test(text) ? text : undefined;

const BY_STATUS: Readonly<Record<number, string>> = {
  304: 'NotModified',
  403: 'AccessDenied',
  404: 'NoSuchKey',
  412: 'PreconditionFailed',
  416: 'InvalidRange',
};

/** The error of an answer. */
export function errorOf(answer: Answer, key: string | undefined): ObjectError {
  const { status, fields } = answer;
  const xml = textOf(answer);
  const detail = shown(saidIn(xml, 'Message'));
  const hint = shown(saidIn(xml, 'Hint'));
  // The token was the client's own: the call may be repeated. S3 has the same code for credentials.
  if (fields[ERROR] === 'InvalidToken') {
    const of = `the server could not use the memory of the client${detail ? `: ${detail}` : ''}`;
    return new ObjectError('FabricFailed', { detail: of, hint, key });
  }
  const code = asCode(fields[ERROR]) ?? asCode(saidIn(xml, 'Code')) ?? BY_STATUS[status];
  if (status >= 300) return new ObjectError(code ?? `Http${status}`, { detail, hint, status, key });
  // S3 may say 200 before it fails.
  if (code !== undefined) return new ObjectError(code, { detail, hint, key });
  return invalidAnswer(`the answer has the status ${status}`, { key });
}

/** The name of the first element of a document. */
const rootOf = (xml: string): string | undefined =>
  /^(?:<\?xml[^>]*\?>\s*)?<([\w.-]+)[\s>/]/.exec(xml)?.[1];

/** The document of an answer. @throws ObjectError that of an error; InvalidAnswer for another one. */
export function documentIn(answer: Answer, root: string, key?: string): string {
  const xml = textOf(answer);
  const found = rootOf(xml);
  if (found === 'Error') throw errorOf(answer, key);
  // Comments, CDATA and document types hide elements, and no server of S3 writes them.
  if (found === root && xml.endsWith(`</${root}>`) && !xml.includes('<!')) return xml;
  throw invalidAnswer(`the answer is no ${root}`, { key });
}

/** Refuses what is no answer to a request that has only a status. */
export function checkEmpty(answer: Answer, key?: string): void {
  const xml = textOf(answer);
  const root = rootOf(xml);
  if (root === 'Error') throw errorOf(answer, key);
  if (xml !== '' && (root === undefined || /^html$/i.test(root)))
    throw invalidAnswer('the answer is no XML', { key });
}

/** The contents of the elements of a document. @throws ObjectError InvalidAnswer. */
export function elementsIn(xml: string, name: string): string[] {
  try {
    return contentsOf(xml, name);
  } catch {
    throw invalidAnswer(`the answer has a malformed ${name}`);
  }
}

/** The text of an element. @throws ObjectError InvalidAnswer if there is none, or it is empty. */
export function textIn(xml: string, name: string): string {
  const text = saidIn(xml, name);
  if (text) return text;
  throw invalidAnswer(`the answer has no ${name}`);
}

/** A number of an answer. */
export function lengthIn(text: string, key?: string): number {
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  throw invalidAnswer('the answer has a malformed length', { key });
}

export function dateIn(text: string | undefined, key?: string): Date {
  const date = new Date(text ?? Number.NaN);
  if (Number.isNaN(date.getTime()))
    throw invalidAnswer('the answer does not say when the object was modified', { key });
  return date;
}

/** The ETag of an answer about an object. */
export function etagIn({ fields }: Head, key?: string): string {
  const { etag } = fields;
  if (etag) return etag;
  throw invalidAnswer('the answer has no ETag', { key });
}

/** What a GET asks for. */
export interface AskedRange {
  readonly start: number;
  readonly end?: number | undefined;
}

/** The part of an object that an answer brings or describes. */
export interface Part {
  readonly start: number;
  /** Undefined: to the end of the object, which is not known. */
  readonly end: number | undefined;
  /** Bytes of the object, if they are known. */
  readonly size: number | undefined;
  /** Whether the answer has more than that. */
  readonly isCut: boolean;
}

/**
 * The part of an answer that was asked for. A server may answer a range with the whole object: RFC 9110, 14.2.
 *
 * @param length bytes of the answer, or of what it describes. Undefined if they are not known.
 * @throws ObjectError InvalidAnswer; InvalidRange if the object is shorter.
 */
export function partIn(
  head: Head,
  asked: AskedRange | undefined,
  length: number | undefined,
  key: string,
): Part {
  if (head.status === 206) {
    if (asked === undefined) throw invalidAnswer('the answer is a part of the object', { key });
    const { start, end, size } = rangeIn(head, asked, key);
    if (length !== undefined && length !== end - start) throw otherLength(key);
    return { start, end, size, isCut: false };
  }
  if (asked === undefined) return { start: 0, end: length, size: length, isCut: false };
  const { start } = asked;
  const end = Math.min(asked.end ?? Number.POSITIVE_INFINITY, length ?? Number.POSITIVE_INFINITY);
  if (length !== undefined && start >= length) throw noSuchRange(length, key);
  return { start, end: Number.isFinite(end) ? end : undefined, size: length, isCut: true };
}

export const otherLength = (key: string): ObjectError =>
  invalidAnswer('the answer has another length', { key });

export const noSuchRange = (size: number, key: string): ObjectError =>
  new ObjectError('InvalidRange', { detail: `the object has ${size} bytes`, key });

/** The range of a 206. @throws ObjectError InvalidAnswer if another one was asked for. */
export function rangeIn(
  { fields }: Head,
  asked: AskedRange,
  key: string,
): Range & { readonly size: number } {
  const text = fields['content-range'] ?? '';
  const [first, last, size] = (/^bytes (\d{1,16})-(\d{1,16})\/(\d{1,16})$/.exec(text) ?? [])
    .slice(1)
    .map(Number) as [number?, number?, number?];
  if (first !== undefined && last !== undefined && size !== undefined) {
    const expected = Math.min(asked.end ?? size, size);
    if (first === asked.start && last + 1 === expected && first < expected)
      return { start: first, end: expected, size };
  }
  const of = `bytes ${asked.start}-${asked.end === undefined ? '' : asked.end - 1}`;
  throw invalidAnswer(`the answer has the range '${shown(text.slice(0, 64))}', not '${of}'`, {
    key,
  });
}
