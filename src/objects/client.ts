import { constants } from 'node:buffer';
import { checkSignal } from '../base/abort-signals.js';
import { checkBytes, checkMilliseconds, checkOptions, checkString } from '../base/checks.js';
import { uncloneable } from '../base/describe.js';
import { closed, invalidArgType, invalidArgValue, outOfRange } from '../base/errors.js';
import { isInstance, isRevoked } from '../base/objects.js';
import type { MemoryLease } from '../transfer/lease.js';
import { MemoryPool } from '../transfer/memory-pool.js';
import { taking } from '../transfer/streams/sources.js';
import { TransferEngine } from '../transfer/transfer-engine.js';
import { newBytes, tooLongFor } from './answer-body.js';
import { checkEmpty, errorOf, invalidAnswer } from './answers.js';
import {
  baseOf,
  bodyIn,
  CLIENT,
  checkAlgorithm,
  checkFields,
  checkList,
  checkRange,
  conditionFields,
  type GetOptions,
  type ObjectBody,
  type ObjectClientOptions,
  type ObjectConditions,
  type ObjectContent,
  OF_GET,
  OF_LIST,
  OF_OTHERS,
  OF_PUT,
  OF_READ,
  type PutOptions,
  type ReadOptions,
  sourceOfBody,
  TIMEOUT,
} from './client-options.js';
import { Connection } from './connection.js';
import { checkReadable, Getting, isOfHost, partOf } from './get.js';
import { infoOf, type ObjectInfo, type Room, roomOf, type Wanted } from './get-requests.js';
import { encodedKey, wrongKey } from './keys.js';
import { type ListOptions, listEntries, type ObjectEntry } from './list.js';
import { type Placed, type PutResult, Putting } from './put.js';
import type { RequestBody } from './request-body.js';

const UNCLONEABLE = uncloneable('an ObjectClient belongs to its thread: make another one there');

/**
 * The objects of a bucket, on an ObjectServer or another server of S3 that needs no signatures. Calls may run at the same
 * time. A call that fails is not repeated.
 *
 * @example
 * ```ts
 * await using objects = new ObjectClient('http://server:8080/models', { engine });
 * await objects.put('a/weights', weights, { checksum: 'crc64nvme' });
 * const { bytes } = await objects.get('a/weights');
 * ```
 */
export class ObjectClient {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /** The URL of the bucket. */
  readonly url: string;
  readonly #path: string;
  readonly #engine: TransferEngine | undefined;
  readonly #connection: Connection;

  /** @param url of the bucket: `http://server:8080/bucket`. */
  constructor(url: string | URL, options: ObjectClientOptions = {}) {
    const base = baseOf(url);
    const {
      engine,
      pool,
      fetch,
      headers = {},
      timeout = TIMEOUT,
    } = checkOptions('options', options, CLIENT);
    if (engine !== undefined && !isInstance(engine, TransferEngine))
      throw invalidArgType('options.engine', 'a TransferEngine', engine);
    if (pool !== undefined && !isInstance(pool, MemoryPool))
      throw invalidArgType('options.pool', 'a MemoryPool', pool);
    if (pool !== undefined && engine === undefined)
      throw invalidArgValue('options.pool', 'needs options.engine');
    if (fetch !== undefined && (typeof fetch !== 'function' || isRevoked(fetch)))
      throw invalidArgType('options.fetch', 'a function', fetch);
    this.url = base.href;
    this.#path = base.pathname;
    this.#engine = engine;
    this.#connection = new Connection(base, {
      ...{ engine, pool, fetch, headers: checkFields(headers) },
      timeout: checkMilliseconds('options.timeout', timeout, 1),
    });
  }

  #pathOf(key: string): string {
    checkString('key', key);
    const wrong = wrongKey(key);
    if (wrong)
      throw invalidArgValue('key', wrong[1] ?? 'has at most 1024 bytes, and 255 between slashes');
    if (this.closed) throw closed('the object client');
    return `${this.#path}/${encodedKey(key)}`;
  }

  #wanted(key: string, options: Partial<ReadOptions>): Wanted {
    const { range, checksum, ifMatch, ifNoneMatch, signal } = options;
    return {
      key,
      path: this.#pathOf(key),
      range: range === undefined ? undefined : checkRange(range),
      fields: conditionFields({ ifMatch, ifNoneMatch }),
      checksum: checkAlgorithm(checksum),
      signal: checkSignal(signal),
    };
  }

  /**
   * Gets an object. Objects of more than 256 KiB travel over the fabric, in pieces, if both sides have an engine.
   *
   * @throws ObjectError NoSuchKey; PreconditionFailed, also if the object changes meanwhile; NotModified with `ifNoneMatch`;
   * InvalidRange; BadDigest if the bytes do not match; InvalidAnswer if the answer is not that of a server of objects.
   * RangeError ERR_OUT_OF_RANGE if the object is longer than `into`, or than an ArrayBuffer may be. TransferError. The reason
   * of the signal.
   */
  async get(key: string, options: GetOptions = {}): Promise<ObjectContent> {
    const { into, ...rest } = checkOptions('options', options, OF_GET);
    const wanted = this.#wanted(key, rest);
    const part = partOf(into);
    checkReadable(part, wanted.checksum);
    const given = into === undefined || part ? undefined : checkBytes('options.into', into);
    const room = given?.length;
    const getting = new Getting(this.#connection, await this.#connection.way(), wanted);
    if (part) {
      const isReadable = isOfHost(part);
      const found = await getting.find(roomOf(part.length), isReadable ? undefined : 0);
      const info = infoOf(found.head, key, found.size);
      await getting.into(found, part);
      const bytes = isReadable ? part.bytes.subarray(0, found.length) : new Uint8Array();
      return { ...info, bytes };
    }
    const found = await getting.find(room === undefined ? ANY_ROOM : roomOf(room));
    const info = infoOf(found.head, key, found.size);
    if (found.bytes && given === undefined) return { ...info, bytes: found.bytes };
    return { ...info, bytes: await getting.copy(found, given ?? newBytes(found.length), room) };
  }

  /**
   * The bytes of an object of any length, piece by piece. At most three pieces are in memory, of a buffer of the pool or 8 MiB
   * each. A server that is not of this package sends the object in one answer: its pieces come as they arrive, and it waits
   * while the program does.
   *
   * @throws (by the loop) as get() does. After the signal has aborted, the next step throws its reason.
   */
  async *stream(key: string, options: ReadOptions = {}): AsyncGenerator<Uint8Array, undefined> {
    const wanted = this.#wanted(key, checkOptions('options', options, OF_READ));
    const getting = new Getting(this.#connection, await this.#connection.way(), wanted);
    const own = (bytes: Uint8Array, _: number, isOwn: boolean) =>
      isOwn ? bytes : Uint8Array.from(bytes);
    return yield* getting.pieces(await getting.find(undefined), own);
  }

  /**
   * Gets an object into a buffer of a pool of the engine. The program releases it.
   *
   * @throws RangeError ERR_OUT_OF_RANGE if the object is empty, or longer than a buffer. Otherwise as get() does.
   */
  async lease(key: string, pool: MemoryPool, options: ReadOptions = {}): Promise<MemoryLease> {
    if (!isInstance(pool, MemoryPool)) throw invalidArgType('pool', 'a MemoryPool', pool);
    const wanted = this.#wanted(key, checkOptions('options', options, OF_READ));
    const way = await this.#connection.way();
    const getting = new Getting(this.#connection, way, wanted);
    const { size } = pool;
    const tooLong = (length: number) =>
      outOfRange('the object', `at most the ${size} bytes of a buffer of the pool`, length);
    const found = await getting.find({ length: size, tooLong });
    const lease = await this.#connection.acquire(pool, found.length, way, wanted.signal);
    try {
      await getting.into(found, lease);
      return lease;
    } catch (error) {
      lease.release();
      throw error;
    }
  }

  /**
   * Puts an object. Others see the old object or the new one. Streams, files and blobs of more bytes than a buffer become a
   * multipart upload. A put() that fails ends its source: it destroys a stream, and calls return() of an iterator.
   *
   * Up to 256 KiB of bytes are copied by the call. Longer ones must stay as they are until the promise settles, and after an abort
   * until released() of the error resolves.
   *
   * @throws Error ERR_INVALID_STATE if the buffer of longer bytes was detached or made shorter meanwhile. ObjectError PreconditionFailed, BadDigest, KeyConflict, NoSuchBucket, InsufficientStorage. TransferError. The
   * reason of the signal. Then the object is as it was, unless the answer was lost, or was InvalidAnswer.
   */
  async put(key: string, body: ObjectBody, options: PutOptions = {}): Promise<PutResult> {
    const part = partOf(body);
    const given = part ? undefined : bodyIn(body);
    return taking(part || given ? undefined : sourceOfBody(body), async (source) => {
      const placed = this.#placed(key, options);
      checkReadable(part, placed.checksum);
      await source?.check?.();
      const putting = new Putting(this.#connection, await this.#connection.way(), placed);
      if (source) return putting.stream(source);
      if (part) return putting.memory(part);
      const register = (long: Uint8Array) => (this.#engine as TransferEngine).register(long);
      return putting.bytes(given as RequestBody, register);
    });
  }

  #placed(key: string, options: PutOptions): Placed {
    const { checksum, signal, ...conditions } = checkOptions('options', options, OF_PUT);
    return {
      key,
      path: this.#pathOf(key),
      fields: conditionFields(conditions),
      checksum: checkAlgorithm(checksum),
      signal: checkSignal(signal),
    };
  }

  /** Describes an object. @throws ObjectError NoSuchKey, PreconditionFailed, NotModified. */
  async head(key: string, options: ObjectConditions = {}): Promise<ObjectInfo> {
    const answer = await this.#send('HEAD', key, options);
    if (answer.status === 200) return infoOf(answer, key);
    throw invalidAnswer('the answer does not describe the object', { key });
  }

  /** Removes an object. Does nothing if there is none. @throws ObjectError PreconditionFailed with `ifMatch`. */
  async delete(key: string, options: ObjectConditions = {}): Promise<void> {
    checkEmpty(await this.#send('DELETE', key, options), key);
  }

  async #send(method: string, key: string, options: ObjectConditions) {
    const { signal, ...conditions } = checkOptions('options', options, OF_OTHERS);
    const fields = conditionFields(conditions);
    const call = { method, path: this.#pathOf(key), fields, signal: checkSignal(signal) };
    const answer = await this.#connection.send(await this.#connection.way(), call);
    if (answer.status >= 300) throw errorOf(answer, key);
    return answer;
  }

  /** Lists the bucket. @throws (by the loop) ObjectError NoSuchBucket; InvalidAnswer if a page is none, or pages repeat. */
  list(options: ListOptions = {}): AsyncGenerator<ObjectEntry> {
    const checked = checkOptions('options', options, OF_LIST);
    if (this.closed) throw closed('the object client');
    return listEntries(this.#connection, this.#path, checkList(checked));
  }

  /** Makes the bucket. @throws ObjectError BucketAlreadyOwnedByYou. */
  async createBucket(): Promise<void> {
    const call = { method: 'PUT', path: this.#path, fields: {} };
    const answer = await this.#connection.send(await this.#connection.way(), call);
    if (answer.status >= 300) throw errorOf(answer, undefined);
    checkEmpty(answer);
  }

  /** Whether close() was called. */
  get closed(): boolean {
    return this.#connection.closed;
  }

  /** Ends the connections. The engine stays open. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Closes the client: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const ANY_ROOM: Room = { length: constants.MAX_LENGTH, tooLong: tooLongFor };
