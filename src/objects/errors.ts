import { startAtCaller } from '../base/errors.js';

/** Each code: the status of HTTP, what has happened, and what to do. The names are those of S3. */
const KNOWN = {
  AccessDenied: [403, 'the request is not allowed', 'check the authorization of the request'],
  BadDigest: [400, 'the bytes do not match the checksum', 'send them again'],
  BucketAlreadyExists: [
    409,
    'something that is no folder has the name of the bucket on the server',
    'remove it there, or use another name',
  ],
  BucketAlreadyOwnedByYou: [409, 'there is such a bucket', 'use it'],
  BucketNotEmpty: [409, 'the bucket has objects', 'delete them first'],
  EntityTooLarge: [400, 'the object is too large', 'use a multipart upload'],
  FabricFailed: [502, 'the fabric has failed', 'try again, or without an engine'],
  InsufficientStorage: [507, 'the file system of the server is full', 'make room on the server'],
  InternalError: [500, 'the server has failed', 'look at the log of the server'],
  InvalidAnswer: [
    502,
    'the answer is not that of a server of objects',
    'check the URL, and what answers there: it may be a proxy, or another service',
  ],
  InvalidArgument: [400, 'an argument of the request is invalid', 'correct it'],
  InvalidBucketName: [
    400,
    'a bucket has 1 to 63 letters, digits, dots, hyphens and underscores, and begins with a letter or a digit',
    'use another name',
  ],
  InvalidDigest: [400, 'Content-MD5 is no MD5 in base64', 'correct it'],
  InvalidPart: [400, 'a part is missing or has another ETag', 'upload it again'],
  InvalidPartOrder: [400, 'the parts are not in ascending order', 'sort them'],
  InvalidRange: [416, 'the object has no such range', 'ask for its length first'],
  InvalidRequest: [400, 'the header fields of the request contradict each other', 'correct them'],
  InvalidToken: [400, 'a token is wrong or has expired', 'offer the memory again'],
  InvalidURI: [400, 'the path of the request is malformed', 'encode each part of the key'],
  KeyConflict: [
    409,
    'a key cannot be both an object and a folder of others',
    'delete the other one first, or use another key',
  ],
  KeyTooLongError: [400, 'a key has at most 1024 bytes, and 255 between slashes', 'shorten it'],
  MalformedTrailerError: [
    400,
    'the trailers of the body are not those that x-amz-trailer announces',
    'send each of them once',
  ],
  MalformedXML: [400, 'the XML of the request is malformed', 'correct it'],
  MethodNotAllowed: [405, 'the method is not allowed here', 'use GET, HEAD, PUT or DELETE'],
  MissingContentLength: [
    411,
    'an aws-chunked body needs its length in x-amz-decoded-content-length',
    'add the header',
  ],
  NoSuchBucket: [404, 'there is no such bucket', 'create it'],
  NoSuchKey: [404, 'there is no object with this key', 'list the bucket to see its keys'],
  NoSuchUpload: [
    404,
    'there is no such upload',
    'it was completed, aborted or left for too long: create another one',
  ],
  NotImplemented: [501, 'the server does not implement this', 'docs/objects.md lists what works'],
  NotModified: [304, 'the client has this version', 'use it'],
  OperationAborted: [409, 'the object has changed during the request', 'send the request again'],
  PreconditionFailed: [412, 'the object is not the expected version', 'read it again'],
  SlowDown: [503, 'the server has too much to do', 'try again later'],
  XAmzContentSHA256Mismatch: [
    400,
    'the bytes do not match x-amz-content-sha256',
    'send them again',
  ],
} as const satisfies Record<string, readonly [status: number, text: string, hint: string]>;

/** The codes that this package knows. Other servers may send others. */
export type ObjectErrorCode = keyof typeof KNOWN;

/** A request about objects that was refused or has failed. */
export class ObjectError extends Error {
  /** The code of S3: `'NoSuchKey'`. */
  readonly code: ObjectErrorCode | (string & {});
  /** The status of HTTP. */
  readonly status: number;
  /** What to do. */
  readonly hint: string | undefined;
  /** The key, if the request was about one. */
  readonly key: string | undefined;

  readonly #text: string;
  readonly #fields: Readonly<Record<string, string>> | undefined;
  readonly #ownHint: string | undefined;

  /** @internal @param detail if undefined, the text of the code. */
  constructor(
    code: ObjectErrorCode | (string & {}),
    { detail, status, key, fields, cause, hint: given }: ObjectErrorDetails = {},
  ) {
    const known: (typeof KNOWN)[ObjectErrorCode] | undefined = KNOWN[code as ObjectErrorCode];
    const hint = given ?? known?.[2];
    const text = detail ?? known?.[1] ?? `the server has answered ${status}`;
    const of = key === undefined ? '' : `, '${key}'`;
    super(`${code}: ${text}${of}${hint ? `; ${hint}` : ''}`, cause === undefined ? {} : { cause });
    this.code = code;
    this.status = status ?? known?.[0] ?? 500;
    this.hint = hint;
    this.key = key;
    this.#text = text;
    this.#fields = fields;
    this.#ownHint = given;
    startAtCaller(this);
  }

  /** @internal What has happened, without the code, the key and the hint. */
  get text(): string {
    return this.#text;
  }

  /** @internal The hint, if it is not that of the code. */
  get ownHint(): string | undefined {
    return this.#ownHint;
  }

  /** @internal Fields of the answer. */
  get fields(): Readonly<Record<string, string>> | undefined {
    return this.#fields;
  }
}

Object.defineProperty(ObjectError.prototype, 'name', { value: 'ObjectError', configurable: true });

/** More about an {@link ObjectError}. */
export interface ObjectErrorDetails {
  readonly detail?: string | undefined;
  readonly status?: number | undefined;
  readonly key?: string | undefined;
  readonly fields?: Readonly<Record<string, string>> | undefined;
  readonly cause?: unknown;
  /** If undefined, that of the code. */
  readonly hint?: string | undefined;
}
