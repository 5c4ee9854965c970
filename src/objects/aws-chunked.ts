// Bodies with `content-encoding: aws-chunked`: chunks of a length in hexadecimal digits, and trailers. Signatures of chunks
// are not checked.
import { ObjectError } from './errors.js';
import type { Fields } from './versions.js';

const MAX_LINE = 16 * 1024; // bytes
const MAX_TRAILERS = 64; // checksums and a signature are a few, of a line each, and short ones
const MAX_TRAILER_BYTES = 16 * 1024; // of all of them

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

/** The bytes of a body. @param trailers gets those that follow them. */
export async function* decodeChunks(
  body: AsyncIterable<Uint8Array>,
  trailers: Record<string, string>,
): AsyncGenerator<Uint8Array> {
  const reader = new BodyReader(body);
  try {
    yield* decode(reader, trailers);
  } finally {
    await reader.close();
  }
}

async function* decode(
  reader: BodyReader,
  trailers: Record<string, string>,
): AsyncGenerator<Uint8Array> {
  for (;;) {
    const [size = ''] = (await reader.line()).split(';');
    if (!/^[\da-f]{1,12}$/i.test(size)) throw malformed();
    const length = Number.parseInt(size, 16);
    if (length === 0) break;
    yield* reader.bytes(length);
    if ((await reader.line()) !== '') throw malformed();
  }
  for (let count = 0, bytes = 0; ; count++) {
    const line = await reader.line();
    if (line === '') break;
    bytes += line.length;
    if (count === MAX_TRAILERS || bytes > MAX_TRAILER_BYTES) throw malformed();
    const colon = line.indexOf(':');
    if (colon < 0) throw malformed();
    trailers[line.slice(0, colon).trim().toLowerCase()] = line.slice(colon + 1).trim();
  }
  await reader.end();
}

export const isChunked = (fields: Fields): boolean =>
  /\baws-chunked\b/.test(fields['content-encoding'] ?? '') ||
  (fields['x-amz-content-sha256'] ?? '').startsWith('STREAMING-');
