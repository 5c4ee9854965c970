// Bodies with `content-encoding: aws-chunked`: chunks of a length in hexadecimal digits, and trailers. Signatures of chunks
// are not checked.
import { ObjectError } from './errors.js';
import type { Fields } from './versions.js';

const MAX_LINE = 16 * 1024; // bytes
const MAX_TRAILER_BYTES = 16 * 1024; // of all trailers
/** The trailer that need not be announced. */
const SIGNATURE = 'x-amz-trailer-signature';

const malformed = () =>
  new ObjectError('InvalidArgument', { detail: 'the aws-chunked body is malformed' });

/** Takes lines and bytes from a body. */
class BodyReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(body: AsyncIterable<Uint8Array>) {
    this.#chunks = body[Symbol.asyncIterator]();
  }

  async #next(): Promise<Buffer> {
    const { done, value } = await this.#chunks.next();
    if (done) throw malformed();
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }

  /** A line without its end. */
  async line(): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf('\r\n');
      if (end > MAX_LINE || (end < 0 && this.#rest.length > MAX_LINE)) throw malformed();
      if (end >= 0) {
        const line = this.#rest.toString('latin1', 0, end);
        this.#rest = this.#rest.subarray(end + 2);
        return line;
      }
      this.#rest = Buffer.concat([this.#rest, await this.#next()]);
    }
  }

  async *bytes(length: number): AsyncGenerator<Uint8Array> {
    for (let left = length; left > 0; ) {
      if (this.#rest.length === 0) this.#rest = await this.#next();
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }

  /** No more is read. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  /** Everything was read. */
  async end(): Promise<void> {
    if (this.#rest.length > 0 || !(await this.#chunks.next()).done) throw malformed();
  }
}

/** The trailers of a body. */
export interface Trailers {
  /** The names of those that may come, in lower case. */
  readonly announced: ReadonlySet<string>;
  /** Those that have come. */
  readonly received: Map<string, string>;
}

/** The bytes of a body, and then its trailers. */
export async function* decodeChunks(
  body: AsyncIterable<Uint8Array>,
  trailers: Trailers,
): AsyncGenerator<Uint8Array> {
  const reader = new BodyReader(body);
  try {
    yield* decode(reader);
    await readTrailers(reader, trailers);
    await reader.end();
  } finally {
    await reader.close();
  }
}

async function* decode(reader: BodyReader): AsyncGenerator<Uint8Array> {
  for (;;) {
    const [size = ''] = (await reader.line()).split(';');
    if (!/^[\da-f]{1,12}$/i.test(size)) throw malformed();
    const length = Number.parseInt(size, 16);
    if (length === 0) return;
    yield* reader.bytes(length);
    if ((await reader.line()) !== '') throw malformed();
  }
}

async function readTrailers(reader: BodyReader, { announced, received }: Trailers): Promise<void> {
  for (let bytes = 0; ; ) {
    const line = await reader.line();
    if (line === '') return;
    bytes += line.length;
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    const isKnown = announced.has(name) || name === SIGNATURE;
    if (bytes > MAX_TRAILER_BYTES || !isKnown || received.has(name))
      throw new ObjectError('MalformedTrailerError');
    received.set(name, line.slice(colon + 1).trim());
  }
}

export const isChunked = (fields: Fields): boolean =>
  /\baws-chunked\b/.test(fields['content-encoding'] ?? '') ||
  (fields['x-amz-content-sha256'] ?? '').startsWith('STREAMING-');
