// How a client puts an object: a short one in the request, a long one from memory that the server reads, and a stream in the
// parts of a multipart upload.
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../base/abort-signals.js';
import { countAsHandled } from '../base/cancellation.js';
import { within } from '../base/wait-options.js';
import type { MemoryPart, TransferMemory } from '../transfer/memory.js';
import type { MemoryPool } from '../transfer/memory-pool.js';
import type { ByteSource } from '../transfer/streams/sources.js';
import { documentIn, errorOf, etagIn, textIn } from './answers.js';
import { type ChecksumAlgorithm, CombinedCrc, checksumOf } from './checksums.js';
import type { Connection, Way } from './connection.js';
import { ObjectError } from './errors.js';
import type { Answer, Call } from './exchange.js';
import { isOfHost } from './get.js';
import { type Filled, PartReader } from './part-reader.js';
import { INLINED } from './protocol.js';
import { bodyOf, bytesNow, ownBody, type RequestBody } from './request-body.js';
import { documentOf } from './xml.js';

const MOST_AT_ONCE = 2 ** 30; // bytes whose memory is offered for one request
const PARTS_AT_ONCE = 3;
const END_TIMEOUT = 1000; // ms

/** What a PUT is about. */
export interface Placed {
  readonly key: string;
  readonly path: string;
  /** Its conditions. */
  readonly fields: Readonly<Record<string, string>>;
  readonly checksum: ChecksumAlgorithm | undefined;
  readonly signal: AbortSignal | undefined;
}

/** What became of a PUT. */
export interface PutResult {
  readonly etag: string;
}

interface SentPart {
  readonly number: number;
  readonly etag: string;
  readonly checksum: string | undefined;
  readonly length: number;
}

/** A PUT in progress. */
export class Putting {
  readonly #connection: Connection;
  readonly #way: Way;
  readonly #placed: Placed;

  constructor(connection: Connection, way: Way, placed: Placed) {
    this.#connection = connection;
    this.#way = way;
    this.#placed = placed;
  }

  #send(
    method: string,
    query: string,
    fields: Readonly<Record<string, string>>,
    body?: RequestBody,
  ): Promise<Answer> {
    return this.#sendUntil(this.#placed.signal, { method, query, fields, body });
  }

  async #sendUntil(
    signal: AbortSignal | undefined,
    { query, ...request }: Omit<Call, 'path' | 'signal' | 'timeout'> & { readonly query: string },
  ): Promise<Answer> {
    const { path, key } = this.#placed;
    const call = { ...request, path: `${path}${query}`, signal };
    const answer = await this.#connection.send(this.#way, call);
    if (answer.status >= 300) throw errorOf(answer, key);
    return answer;
  }

  async #checksum(bytes: Uint8Array): Promise<[string | undefined, Record<string, string>]> {
    const { checksum } = this.#placed;
    if (checksum === undefined) return [undefined, {}];
    const value = await checksumOf(checksum, bytes);
    return [value, { [`x-amz-checksum-${checksum}`]: value }];
  }

  /** Sends bytes as an object, or as a part of one. */
  async #sendBytes(
    query: string,
    fields: Readonly<Record<string, string>>,
    body: RequestBody,
  ): Promise<Omit<SentPart, 'number'>> {
    const [checksum, header] = await this.#checksum(bytesNow(body));
    const answer = await this.#send('PUT', query, { ...fields, ...header }, body);
    return { etag: etagIn(answer, this.#placed.key), checksum, length: body.length };
  }

  /** The same from memory that the server reads. */
  async #sendMemory(
    query: string,
    fields: Readonly<Record<string, string>>,
    part: MemoryPart,
  ): Promise<Omit<SentPart, 'number'>> {
    const { fabric } = this.#way;
    const { path, signal, key } = this.#placed;
    if (isOfHost(part) && (fabric === undefined || part.length <= INLINED))
      return this.#sendBytes(query, fields, bodyOf(part.bytes));
    if (fabric === undefined) {
      const detail = 'memory of a device needs a server with an engine';
      throw new ObjectError('NotImplemented', { detail, key });
    }
    const [checksum, header] = this.#placed.checksum
      ? await this.#checksum(part.bytes)
      : [undefined, {}];
    const answer = await fabric.offering(part, 'read', (offer) => {
      const all = { ...fields, ...header, ...offer };
      const call = { method: 'PUT', path: `${path}${query}`, fields: all, signal };
      return this.#connection.send(this.#way, call);
    });
    if (answer.status >= 300) throw errorOf(answer, key);
    return { etag: etagIn(answer, key), checksum, length: part.length };
  }

  /** Puts bytes. @param register makes them memory of the engine, for longer ones. */
  async bytes(
    body: RequestBody,
    register: (bytes: Uint8Array) => Promise<TransferMemory>,
  ): Promise<PutResult> {
    if (this.#way.fabric === undefined || body.length <= INLINED)
      return resultOf(await this.#sendBytes('', this.#placed.fields, body));
    const memory = await register(bytesNow(body));
    try {
      const result = await this.memory(memory.slice());
      await memory.close();
      return result;
    } catch (error) {
      countAsHandled(memory.close()); // a server that was cut off may hold it for a while
      throw error;
    }
  }

  /** Puts memory of the engine. */
  async memory(part: MemoryPart): Promise<PutResult> {
    if (part.length <= MOST_AT_ONCE)
      return resultOf(await this.#sendMemory('', this.#placed.fields, part));
    return this.#upload(async (send) => {
      for (let at = 0; at < part.length; at += MOST_AT_ONCE)
        await send(part.slice(at, Math.min(at + MOST_AT_ONCE, part.length)));
    });
  }

  /** Puts the bytes of a source, in parts of a buffer of the pool. The caller ends the source if this fails. */
  async stream(source: ByteSource): Promise<PutResult> {
    const pool = this.#way.fabric?.pool;
    const end = this.#connection.endOf(this.#way, this.#placed.signal);
    const acquire = (length: number) =>
      this.#connection.acquire(pool as MemoryPool, length, this.#way, end.signal);
    const reader = new PartReader(source, pool, acquire, end.signal);
    try {
      const first = await reader.next();
      if (first === undefined || reader.ended) {
        const sent =
          first instanceof Uint8Array || first === undefined
            ? await this.#sendBytes('', this.#placed.fields, ownBody(first ?? new Uint8Array()))
            : await this.#sendMemory('', this.#placed.fields, first);
        if (first) reader.free(first);
        return resultOf(sent);
      }
      return await this.#upload(async (send) => {
        for (let part: Filled | undefined = first; part; part = await reader.next()) {
          const filled = part;
          await send(filled, () => reader.free(filled));
        }
      });
    } finally {
      reader.end();
      end.end();
    }
  }

  /** A multipart upload of what `produce` sends. An error aborts it. */
  async #upload(
    produce: (send: (part: Filled, done?: () => void) => Promise<void>) => Promise<void>,
  ): Promise<PutResult> {
    const upload = await this.#create();
    const parts: SentPart[] = [];
    let last = 0;
    const sending = new Set<Promise<void>>();
    let failure: { readonly error: unknown } | undefined;
    const send = async (part: Filled, done?: () => void) => {
      const number = ++last;
      const query = `?partNumber=${number}&${upload}`;
      const sent =
        part instanceof Uint8Array
          ? this.#sendBytes(query, {}, ownBody(part))
          : this.#sendMemory(query, {}, part);
      const one = sent
        .then(
          (result) => void parts.push({ ...result, number }),
          (error) => {
            failure ??= { error };
          },
        )
        .finally(() => {
          sending.delete(one);
          done?.();
        });
      sending.add(one);
      if (sending.size >= PARTS_AT_ONCE) await Promise.race(sending);
      if (failure) throw failure.error;
    };
    try {
      await produce(send);
      await Promise.all(sending);
      if (failure) throw (failure as { error: unknown }).error;
      return await this.#complete(upload, parts);
    } catch (error) {
      await Promise.all(sending);
      await this.#atOnceOrLater(this.#abort(upload));
      throw error;
    }
  }

  /** Creates an upload. The signal does not end the request: an upload whose id is lost cannot be aborted. */
  async #create(): Promise<string> {
    const { signal } = this.#placed;
    if (signal?.aborted) throw reasonOf(signal);
    const request = { method: 'POST', query: '?uploads', fields: {} };
    const creating = this.#sendUntil(undefined, request).then((answer) => {
      const xml = documentIn(answer, 'InitiateMultipartUploadResult', this.#placed.key);
      return `uploadId=${encodeURIComponent(textIn(xml, 'UploadId'))}`;
    });
    try {
      return await within(creating, { signal, timeout: undefined }, 'put');
    } catch (error) {
      await this.#atOnceOrLater(creating.then((upload) => this.#abort(upload)));
      throw error;
    }
  }

  async #abort(upload: string): Promise<void> {
    const call = { method: 'DELETE', path: `${this.#placed.path}?${upload}`, fields: {} };
    await this.#connection.sendEnd(this.#way, call);
  }

  /** Waits for the end of an upload that has failed, but not long: the error of the call says more. */
  async #atOnceOrLater(work: Promise<void>): Promise<void> {
    countAsHandled(work);
    await Promise.race([work.catch(() => {}), sleep(END_TIMEOUT, undefined, { ref: false })]);
  }

  async #complete(upload: string, sent: readonly SentPart[]): Promise<PutResult> {
    const { fields, checksum, key } = this.#placed;
    const parts = [...sent].sort((a, b) => a.number - b.number);
    const crc = new CombinedCrc();
    if (checksum === 'crc64nvme')
      for (const part of parts) crc.add(part.checksum as string, part.length);
    const of: Record<string, string> =
      checksum === 'crc64nvme'
        ? { 'x-amz-checksum-crc64nvme': crc.text, 'x-amz-checksum-type': 'FULL_OBJECT' }
        : {};
    const Part = parts.map(({ number, etag }) => ({ PartNumber: number, ETag: etag }));
    const body = ownBody(Buffer.from(documentOf('CompleteMultipartUpload', { Part })));
    const answer = await this.#send('POST', `?${upload}`, { ...fields, ...of }, body);
    return { etag: textIn(documentIn(answer, 'CompleteMultipartUploadResult', key), 'ETag') };
  }
}

const resultOf = ({ etag }: { readonly etag: string }): PutResult => ({ etag });
