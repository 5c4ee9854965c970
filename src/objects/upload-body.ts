// The bytes of a PUT: over the fabric, or in the body, with the checksums that the client has sent.

import { writeAll } from '../base/file-bytes.js';
import { decodeChunks, isChunked } from './aws-chunked.js';
import { checkSame, checksumOfFile, type UploadAlgorithm } from './checksums.js';
import { ObjectError } from './errors.js';
import type { ServerFabric } from './fabric.js';
import type { NewFile } from './folder.js';
import { iterate, type ObjectRequest } from './request.js';
import type { Fields } from './versions.js';

/** The names of S3, and those of this package. */
const HEADERS: readonly (readonly [header: string, algorithm: UploadAlgorithm])[] = [
  ['x-amz-checksum-crc64nvme', 'crc64nvme'],
  ['x-amz-checksum-sha256', 'sha256'],
  ['x-amz-checksum-sha1', 'sha1'],
  ['x-amz-checksum-crc32', 'crc32'],
  ['content-md5', 'md5'],
];

/** The checksums in header fields or trailers, in base64. */
export function checksumsIn(fields: Fields): Map<UploadAlgorithm, string> {
  if (fields['x-amz-checksum-crc32c'] !== undefined)
    throw new ObjectError('NotImplemented', { detail: 'the server does not compute CRC-32C' });
  const found = new Map<UploadAlgorithm, string>();
  for (const [header, algorithm] of HEADERS) {
    const value = fields[header];
    if (value !== undefined) found.set(algorithm, value);
  }
  const payload = fields['x-amz-content-sha256'];
  if (payload !== undefined && /^[\da-f]{64}$/i.test(payload))
    found.set('sha256', Buffer.from(payload, 'hex').toString('base64'));
  return found;
}

/** What has arrived. */
export interface Upload {
  /** Bytes. */
  readonly length: number;
  /** Those that were checked. */
  readonly checksums: ReadonlyMap<UploadAlgorithm, string>;
}

/** Writes the bytes of a request into a file, from `start`, and checks them. */
export async function receiveUpload(
  request: ObjectRequest,
  { handle }: NewFile,
  fabric: ServerFabric | undefined,
  start = 0,
): Promise<Upload> {
  const { fields } = request;
  const trailers: Record<string, string> = {};
  const moved = await fabric?.withClient(request, 'read', async (client) => {
    if (client === undefined) return undefined;
    await request.quietly(() => fabric.receive(handle, start, client, request.signal));
    return client.length;
  });
  const length = moved ?? (await writeBody(handle, start, bodyOf(request, trailers)));
  const declared = fields['x-amz-decoded-content-length'];
  if (declared !== undefined && Number(declared) !== length)
    throw new ObjectError('InvalidArgument', { detail: `the body has ${length} bytes` });
  const checksums = new Map([...checksumsIn(fields), ...checksumsIn(trailers)]);
  await request.quietly(async () => {
    for (const [algorithm, expected] of checksums) {
      const actual = await checksumOfFile(algorithm, handle.fd, start, start + length);
      checkSame(algorithm, expected, actual);
    }
  });
  return { length, checksums };
}

function bodyOf({ body, fields }: ObjectRequest, trailers: Record<string, string>) {
  if (!isChunked(fields)) return body;
  const chunks = body instanceof Uint8Array ? [body] : body;
  return decodeChunks(iterate(chunks), trailers);
}

async function writeBody(
  handle: NewFile['handle'],
  start: number,
  body: AsyncIterable<Uint8Array> | Uint8Array,
): Promise<number> {
  let at = start;
  for await (const chunk of body instanceof Uint8Array ? [body] : body) {
    await writeAll(handle, chunk, at);
    at += chunk.length;
  }
  return at - start;
}
