// What the calls of a client take, and how it is checked.
import type { FileHandle } from 'node:fs/promises';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { types } from 'node:util';
import { checkSignal } from '../base/abort-signals.js';
import {
  checkBytes,
  checkInteger,
  checkOptions,
  checkString,
  namesOf,
  oneOf,
} from '../base/checks.js';
import { invalidArgType, invalidArgValue } from '../base/errors.js';
import { isInstance, isRevoked } from '../base/objects.js';
import { isBufferView } from '../base/views.js';
import type { MemoryPart, TransferMemory } from '../transfer/memory.js';
import type { MemoryPool } from '../transfer/memory-pool.js';
import type { FileRange } from '../transfer/streams/file-range.js';
import {
  type ByteSource,
  type SourceKind,
  type StreamSource,
  sourceOf,
} from '../transfer/streams/sources.js';
import type { TransferEngine } from '../transfer/transfer-engine.js';
import type { ChecksumAlgorithm } from './checksums.js';
import type { ObjectInfo } from './get-requests.js';
import type { ListOptions } from './list.js';
import { bodyOf, ownBody, type RequestBody } from './request-body.js';

export const TIMEOUT = 120_000; // ms

/** Options of an {@link ObjectClient}. */
export interface ObjectClientOptions {
  /** Moves the bytes of longer objects, if the server has an engine too. The program closes it. */
  readonly engine?: TransferEngine;
  /** Buffers of the engine for bytes that go to the program. If omitted, the client makes 8 of 4 MiB. */
  readonly pool?: MemoryPool;
  /** Sends the requests instead of node:http. */
  readonly fetch?: typeof fetch;
  /** Headers of all requests, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>> | Headers;
  /**
   * Milliseconds for the answer to a request to begin, and for each of its next bytes: then the call rejects with ETIMEDOUT.
   * Default: 120,000. The time that the program takes between two pieces does not count.
   */
  readonly timeout?: number;
}

/** The conditions of a request. */
export interface ObjectConditions {
  /** Only this version: its ETag, or `'*'` for any. */
  readonly ifMatch?: string;
  /** Not this version; for put(), `'*'` makes a new object only. */
  readonly ifNoneMatch?: string;
  readonly signal?: AbortSignal;
}

/** Options of get() and stream(). */
export interface ReadOptions extends ObjectConditions {
  /** The bytes [start, end). Without `end`, all from `start`. */
  readonly range?: { readonly start: number; readonly end?: number };
  /** Compares the bytes with the checksum that the server computes, or that the PUT had. */
  readonly checksum?: ChecksumAlgorithm;
}

/** Options of get(). */
export interface GetOptions extends ReadOptions {
  /** Where the bytes go: memory of the engine, into which the server writes, or other bytes. If omitted, new memory. */
  readonly into?: TransferMemory | MemoryPart | Uint8Array;
}

/** Options of put(). */
export interface PutOptions extends ObjectConditions {
  /** Lets the server check the bytes before they become an object. */
  readonly checksum?: ChecksumAlgorithm;
}

/** An object, or the part of it that was asked for. */
export interface ObjectContent extends ObjectInfo {
  /** For memory of a device, and for pages, empty: the bytes are in `into`. */
  readonly bytes: Uint8Array;
}

/** What put() takes. */
export type ObjectBody =
  | string
  | ArrayBufferView
  | ArrayBuffer
  | SharedArrayBuffer
  | TransferMemory
  | MemoryPart
  | AsyncIterable<string | Uint8Array | ArrayBuffer>
  | Iterable<string | Uint8Array | ArrayBuffer>
  | ReadableStream<string | Uint8Array | ArrayBuffer>
  | Blob
  | FileHandle
  | FileRange;

export const CLIENT = namesOf<ObjectClientOptions>({
  engine: 1,
  pool: 1,
  fetch: 1,
  headers: 1,
  timeout: 1,
});
const CONDITIONS = { ifMatch: 1, ifNoneMatch: 1, signal: 1 } as const;
const READ = { ...CONDITIONS, range: 1, checksum: 1 } as const;
export const OF_READ = namesOf<ReadOptions>(READ);
export const OF_GET = namesOf<GetOptions>({ ...READ, into: 1 });
export const OF_PUT = namesOf<PutOptions>({ ...CONDITIONS, checksum: 1 });
export const OF_OTHERS = namesOf<ObjectConditions>(CONDITIONS);
export const OF_LIST = namesOf<ListOptions>({
  prefix: 1,
  delimiter: 1,
  startAfter: 1,
  pageSize: 1,
  signal: 1,
});

export function baseOf(url: string | URL): URL {
  if (typeof url !== 'string' && !isInstance(url, URL))
    throw invalidArgType('url', 'a string or a URL', url);
  const base = URL.canParse(String(url)) ? new URL(String(url)) : undefined;
  if (base === undefined || !/^https?:$/.test(base.protocol))
    throw invalidArgValue('url', 'must be http:// or https:// and the bucket');
  base.pathname = base.pathname.replace(/\/+$/, '');
  if (base.pathname === '/' || base.search || base.hash || base.username)
    throw invalidArgValue('url', 'must be that of a bucket: http://server:8080/bucket');
  return base;
}

/** Whether a value is an object whose members are its content. It may be of another realm. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || isRevoked(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Checks the value of a header, however it is sent. */
function checkField(where: string, value: unknown): string {
  const text = checkString(where, value);
  try {
    validateHeaderValue('x', text);
    return text;
  } catch {
    throw invalidArgValue(where, 'is not the value of a header');
  }
}

/** Checks the headers of requests, and copies them. */
export function checkFields(headers: unknown): Record<string, string> {
  const fields: Record<string, string> = {};
  const given = isInstance(headers, Headers) ? Object.fromEntries(headers) : headers;
  if (!isPlain(given)) throw invalidArgType('options.headers', 'a plain object or Headers', given);
  for (const [name, value] of Object.entries(given)) {
    const where = `options.headers['${name.slice(0, 64)}']`;
    try {
      validateHeaderName(name);
    } catch {
      throw invalidArgValue(where, 'is not a header');
    }
    fields[name] = checkField(where, value);
  }
  return fields;
}

const text = (name: string, value: unknown) =>
  value === undefined ? undefined : checkString(name, value);

export const checkList = ({ pageSize, signal, ...of }: Partial<ListOptions>) => ({
  prefix: text('options.prefix', of.prefix),
  delimiter: text('options.delimiter', of.delimiter),
  startAfter: text('options.startAfter', of.startAfter),
  pageSize:
    pageSize === undefined ? undefined : checkInteger('options.pageSize', pageSize, 1, 1000),
  signal: checkSignal(signal),
});

export const checkAlgorithm = (algorithm: unknown): ChecksumAlgorithm | undefined =>
  algorithm === undefined
    ? undefined
    : oneOf('options.checksum', algorithm, ['crc64nvme', 'sha256'] as const);

const RANGE = namesOf<{ start: number; end?: number }>({ start: 1, end: 1 });

export function checkRange(given: { readonly start: number; readonly end?: number }) {
  const { start, end } = checkOptions('options.range', given, RANGE);
  const from = checkInteger('options.range.start', start);
  if (end === undefined) return { start: from };
  return { start: from, end: checkInteger('options.range.end', end, from + 1) };
}

export function conditionFields({
  ifMatch,
  ifNoneMatch,
}: {
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}): Record<string, string> {
  return {
    ...(ifMatch !== undefined && { 'if-match': checkField('options.ifMatch', ifMatch) }),
    ...(ifNoneMatch !== undefined && {
      'if-none-match': checkField('options.ifNoneMatch', ifNoneMatch),
    }),
  };
}

/** The bytes of a body. Undefined for a source of bytes. */
export function bodyIn(body: ObjectBody): RequestBody | undefined {
  if (typeof body === 'string') return ownBody(Buffer.from(body));
  const isBytes = types.isAnyArrayBuffer(body) || isBufferView(body);
  return isBytes ? bodyOf(checkBytes('body', body)) : undefined;
}

const BODY: SourceKind = {
  expected:
    'text, bytes, memory of the engine, a stream or an iterable of text and bytes, a Blob, a FileHandle, or { file, start, end }',
  bytesOf: (part) => (typeof part === 'string' ? Buffer.from(part) : part),
};

/** @throws TypeError ERR_INVALID_ARG_TYPE. */
export const sourceOfBody = (body: ObjectBody): ByteSource =>
  sourceOf('body', body as StreamSource, BODY);
