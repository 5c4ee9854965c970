// The bytes of a PUT: over the fabric, or in the body, with the checksums that the client has sent.
import { writeAll } from '../base/file-bytes.js';
import { decodeChunks, isChunked, type Trailers } from './aws-chunked.js';
import { checkSame, checksumOf, checksumOfFile, type UploadAlgorithm } from './checksums.js';
import { ObjectError } from './errors.js';
import type { ServerFabric } from './fabric.js';
import { wholeNumber } from './keys.js';
import type { NewFile } from './own-files.js';
import { iterate, type ObjectRequest } from './request.js';
import { checkHeaders, checksumsIn, HEADERS } from './s3-checksums.js';
import type { Fields } from './versions.js';

/** The checksums that follow the body. */
function announcedIn(fields: Fields): Set<string> {
  const list = fields['x-amz-trailer']?.toLowerCase().split(',') ?? [];
  const names = new Set(list.map((name) => name.trim()));
  checkHeaders(names);
  for (const name of names)
    if (!HEADERS.has(name) || !name.startsWith('x-amz-'))
      throw new ObjectError('InvalidRequest', { detail: 'x-amz-trailer has an unknown name' });
  return names;
}

/** Refuses a request that names an algorithm and has no checksum of it. @param headers those of the checksums. */
function checkNamed(fields: Fields, headers: ReadonlySet<string>): void {
  const algorithm = fields['x-amz-sdk-checksum-algorithm'];
  if (algorithm === undefined || headers.has(`x-amz-checksum-${algorithm.toLowerCase()}`)) return;
  // Some clients name it, their default, beside a checksum of the program.
  if (algorithm.toUpperCase() === 'CRC32' && headers.size > 0) return;
  const detail = `x-amz-sdk-checksum-algorithm is ${algorithm}, and there is no such checksum`;
  throw new ObjectError('InvalidRequest', { detail });
}

const UNSIGNED = 'UNSIGNED-PAYLOAD';
const STREAMING =
  /^STREAMING-(UNSIGNED-PAYLOAD-TRAILER|AWS4-(HMAC|ECDSA-P256)-SHA256-PAYLOAD(-TRAILER)?)$/;

/** The SHA-256 of a body as its signature has it, in base64. Undefined if it has none. */
function payloadHashIn(fields: Fields): string | undefined {
  const payload = fields['x-amz-content-sha256'];
  if (payload === undefined || payload === UNSIGNED || STREAMING.test(payload)) return undefined;
  if (!/^[\da-f]{64}$/i.test(payload)) {
    const detail = `x-amz-content-sha256 is a SHA-256, ${UNSIGNED} or STREAMING-...`;
    throw new ObjectError('InvalidArgument', { detail });
  }
  return Buffer.from(payload, 'hex').toString('base64');
}

function checkPayload(expected: string, actual: string): void {
  if (expected !== actual) throw new ObjectError('XAmzContentSHA256Mismatch');
}

/** Checks the signature's SHA-256 of a body that is in memory. */
export async function checkBody(fields: Fields, body: Uint8Array): Promise<void> {
  const expected = payloadHashIn(fields);
  if (expected !== undefined) checkPayload(expected, await checksumOf('sha256', body));
}

/** The bytes that an aws-chunked body has when it is decoded. Undefined if the request does not say it. */
function decodedLengthOf(fields: Fields): number | undefined {
  const length = fields['x-amz-decoded-content-length'];
  if (length === undefined && isChunked(fields)) throw new ObjectError('MissingContentLength');
  return length === undefined ? undefined : wholeNumber('x-amz-decoded-content-length', length);
}

/** What has arrived. */
export interface Upload {
  /** Bytes. */
  readonly length: number;
  /** Those that were checked. */
  readonly checksums: ReadonlyMap<UploadAlgorithm, string>;
}

/**
 * Writes the bytes of a request into a file, and checks them.
 *
 * @param checkAlgorithms refuses the algorithms of the checksums that the request has, before its bytes travel.
 */
export async function receiveUpload(
  request: ObjectRequest,
  { handle }: NewFile,
  fabric: ServerFabric | undefined,
  checkAlgorithms: (algorithms: Iterable<UploadAlgorithm>) => void = () => {},
): Promise<Upload> {
  const { fields } = request;
  const checksums = checksumsIn(fields);
  const trailers = { announced: announcedIn(fields), received: new Map<string, string>() };
  const sent = [...HEADERS.keys()].filter((name) => fields[name] !== undefined);
  const names = new Set([...sent, ...trailers.announced]);
  checkNamed(fields, names);
  checkAlgorithms([...names].map((name) => HEADERS.get(name) as UploadAlgorithm));
  const payload = payloadHashIn(fields);
  const declared = decodedLengthOf(fields);
  const moved = await fabric?.withClient(request, 'read', async (client) => {
    if (client === undefined) return undefined;
    await request.quietly(() => fabric.receive(handle, client, request.signal));
    return client.length;
  });
  const length = moved ?? (await writeBody(handle, bodyOf(request, trailers)));
  if (declared !== undefined && declared !== length)
    throw new ObjectError('InvalidArgument', { detail: `the body has ${length} bytes` });
  addTrailers(checksums, trailers);
  await request.quietly(async () => {
    const compute = (algorithm: UploadAlgorithm) => checksumOfFile(algorithm, handle.fd, 0, length);
    for (const [algorithm, expected] of checksums)
      checkSame(algorithm, expected, await compute(algorithm));
    if (payload === undefined) return;
    checkPayload(payload, checksums.get('sha256') ?? (await compute('sha256')));
    checksums.set('sha256', payload);
  });
  return { length, checksums };
}

/** Adds the checksums of trailers to those of the header, which may not differ. */
function addTrailers(checksums: Map<UploadAlgorithm, string>, trailers: Trailers): void {
  for (const name of trailers.announced) {
    const value = trailers.received.get(name);
    if (value === undefined) throw new ObjectError('MalformedTrailerError');
    const algorithm = HEADERS.get(name) as UploadAlgorithm;
    checkSame(algorithm, checksums.get(algorithm) ?? value, value);
    checksums.set(algorithm, value);
  }
}

function bodyOf({ body, fields }: ObjectRequest, trailers: Trailers) {
  if (!isChunked(fields)) return body;
  const chunks = body instanceof Uint8Array ? [body] : body;
  return decodeChunks(iterate(chunks), trailers);
}

async function writeBody(
  handle: NewFile['handle'],
  body: AsyncIterable<Uint8Array> | Uint8Array,
): Promise<number> {
  let at = 0;
  for await (const chunk of body instanceof Uint8Array ? [body] : body) {
    await writeAll(handle, chunk, at);
    at += chunk.length;
  }
  return at;
}
