// How a client puts an object: a short one in the request, a long one from memory that the server reads, and a stream in the
// parts of a multipart upload.
import { countAsHandled } from '../base/cancellation.js';
import type { MemoryLease } from '../transfer/lease.js';
import type { MemoryPart, TransferMemory } from '../transfer/memory.js';
import type { MemoryPool } from '../transfer/memory-pool.js';
import type { ByteSource } from '../transfer/streams/sources.js';
import { type ChecksumAlgorithm, CombinedCrc, checksumOf } from './checksums.js';
import { type Connection, errorOf, type Way } from './connection.js';
import { ObjectError } from './errors.js';
import type { Answer } from './exchange.js';
import { isOfHost } from './get.js';
import { INLINED } from './protocol.js';
import { contentsOf, documentOf, textsOf } from './xml.js';

const PART = 8 * 1024 * 1024; // bytes of a part over HTTP
const MOST_AT_ONCE = 2 ** 30; // bytes whose memory is offered for one request
const PARTS_AT_ONCE = 3;

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

  async #send(
    method: string,
    query: string,
    fields: Readonly<Record<string, string>>,
    body?: Uint8Array,
  ): Promise<Answer> {
    const { path, signal, key } = this.#placed;
    const call = { method, path: `${path}${query}`, fields, body, signal };
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
    bytes: Uint8Array,
  ): Promise<Omit<SentPart, 'number'>> {
    const [checksum, header] = await this.#checksum(bytes);
    const answer = await this.#send('PUT', query, { ...fields, ...header }, bytes);
    return { etag: answer.fields.etag ?? '', checksum, length: bytes.length };
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
      return this.#sendBytes(query, fields, part.bytes);
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
    return { etag: answer.fields.etag ?? '', checksum, length: part.length };
  }

  /** Puts bytes. @param register makes them memory of the engine, for longer ones. */
  async bytes(
    bytes: Uint8Array,
    register: (bytes: Uint8Array) => Promise<TransferMemory>,
  ): Promise<PutResult> {
    if (this.#way.fabric === undefined || bytes.length <= INLINED)
      return resultOf(await this.#sendBytes('', this.#placed.fields, bytes));
    const memory = await register(bytes);
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
            ? await this.#sendBytes('', this.#placed.fields, first ?? new Uint8Array())
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
    const created = await this.#send('POST', '?uploads', {});
    const [id = ''] = textsOf(Buffer.from(created.body).toString(), 'UploadId');
    const upload = `uploadId=${encodeURIComponent(id)}`;
    const parts: SentPart[] = [];
    let last = 0;
    const sending = new Set<Promise<void>>();
    let failure: { readonly error: unknown } | undefined;
    const send = async (part: Filled, done?: () => void) => {
      const number = ++last;
      const query = `?partNumber=${number}&${upload}`;
      const bytes = part instanceof Uint8Array;
      const sent = bytes ? this.#sendBytes(query, {}, part) : this.#sendMemory(query, {}, part);
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
      const { path } = this.#placed;
      const abort = { method: 'DELETE', path: `${path}?${upload}`, fields: {} };
      await this.#connection.send(this.#way, abort).catch(() => {}); // the first error says more
      throw error;
    }
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
    const body = Buffer.from(documentOf('CompleteMultipartUpload', { Part }));
    const answer = await this.#send('POST', `?${upload}`, { ...fields, ...of }, body);
    const text = Buffer.from(answer.body).toString();
    if (contentsOf(text, 'Code').length > 0) throw errorOf(answer, key); // S3 may say 200 too early
    return { etag: textsOf(text, 'ETag')[0] ?? '' };
  }
}

const resultOf = ({ etag }: { readonly etag: string }): PutResult => ({ etag });

/** A part of a stream: bytes, or a part of a lease. */
type Filled = Uint8Array | MemoryPart;

/**
 * Makes parts of the bytes of a source. A part gets a buffer of the pool only when it is complete, because the source may
 * itself wait for a buffer of this pool, as that of an ObjectClient does.
 */
class PartReader {
  readonly #source: ByteSource;
  readonly #pool: MemoryPool | undefined;
  readonly #acquire: (length: number) => Promise<MemoryLease>;
  readonly #signal: AbortSignal;
  readonly #leases = new Map<Filled, { release(): unknown }>();
  #room: Uint8Array | undefined;
  #ended = false;

  constructor(
    source: ByteSource,
    pool: MemoryPool | undefined,
    acquire: (length: number) => Promise<MemoryLease>,
    signal: AbortSignal,
  ) {
    this.#source = source;
    this.#pool = pool;
    this.#acquire = acquire;
    this.#signal = signal;
  }

  /** Whether the source has ended. Then next() returns undefined. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The next part. Undefined after the last one. */
  async next(): Promise<Filled | undefined> {
    if (this.#ended || !(await this.#more())) return undefined;
    const room = this.#room ?? Buffer.allocUnsafeSlow(this.#pool?.size ?? PART);
    if (this.#pool) this.#room = room;
    const length = await this.#source.fill(room, this.#signal, undefined);
    if (length < room.length) this.#ended = true;
    else await this.#more(); // to know whether it is the last one
    if (length === 0) return undefined;
    const bytes = room.subarray(0, length);
    if (this.#pool === undefined) return bytes;
    const lease = await this.#acquire(length);
    lease.bytes.set(bytes);
    this.#leases.set(lease, lease);
    return lease;
  }

  /** Whether there may be more bytes. */
  async #more(): Promise<boolean> {
    const isMore = await this.#source.ready(this.#signal);
    this.#ended = !isMore;
    return isMore;
  }

  /** The bytes of a part are not needed any more. */
  free(part: Filled): void {
    this.#leases.get(part)?.release();
    this.#leases.delete(part);
  }

  /** No part is needed any more. */
  end(): void {
    for (const part of this.#leases.keys()) this.free(part);
  }
}
