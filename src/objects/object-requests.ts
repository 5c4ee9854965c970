// GET, HEAD, PUT and DELETE of an object.
import { native } from '../contract/native.js';
import type { Arriving } from './arriving.js';
import { type ChecksumAlgorithm, checksumOf, checksumOfFile } from './checksums.js';
import { ObjectError } from './errors.js';
import type { Client, ServerFabric } from './fabric.js';
import type { ObjectFolder, OpenObject } from './folder.js';
import { type Target, wholeNumber } from './keys.js';
import { CHECKSUM, INLINE, INLINED, LENGTH } from './protocol.js';
import type { ObjectRequest, ObjectResponse } from './request.js';
import { storedChecksums, storedText } from './stored-checksums.js';
import { receiveUpload, type Upload } from './upload-body.js';
import {
  checkChange,
  checkExpected,
  dateOf,
  etagOf,
  type Fields,
  isFresh,
  type Range,
  rangeOf,
  type Version,
} from './versions.js';

/** The parts of a server that its requests use. */
export interface Store {
  readonly folder: ObjectFolder;
  readonly fabric: ServerFabric | undefined;
  readonly arriving: Arriving;
}

function algorithmOf(fields: Fields): ChecksumAlgorithm | undefined {
  const algorithm = fields[CHECKSUM];
  if (algorithm === undefined || algorithm === 'crc64nvme' || algorithm === 'sha256')
    return algorithm;
  throw new ObjectError('InvalidArgument', { detail: `${CHECKSUM} is crc64nvme or sha256` });
}

/** GET and HEAD. */
export function getObject(
  request: ObjectRequest,
  target: Target,
  store: Store,
): Promise<ObjectResponse> {
  const get = (client?: Client) => getFor(client, request, target, store);
  const { fabric } = store;
  return fabric && request.method !== 'HEAD' ? fabric.withClient(request, 'write', get) : get();
}

async function getFor(
  client: Client | undefined,
  request: ObjectRequest,
  { bucket, key }: Target,
  { folder, fabric }: Store,
): Promise<ObjectResponse> {
  const { method, fields } = request;
  const isHead = method === 'HEAD';
  const algorithm = algorithmOf(fields);
  const limit = fields[INLINE] === undefined ? undefined : wholeNumber(INLINE, fields[INLINE]);
  const wantsStored = algorithm !== undefined || fields['x-amz-checksum-mode'] !== undefined;
  const inlined = isHead ? null : client ? 0 : INLINED;
  const room = inlined === INLINED ? request.room?.() : undefined;
  const object = await folder.read(bucket, key, inlined, wantsStored, room);
  let isSent = false;
  try {
    checkExpected(fields, object);
    const answer: Record<string, string> = {
      etag: etagOf(object),
      'last-modified': dateOf(object),
      'accept-ranges': 'bytes',
    };
    if (isFresh(fields, object)) return { status: 304, fields: answer };
    answer['content-type'] = 'application/octet-stream';
    const range = rangeOf(fields, object);
    const { start, end } = range ?? { start: 0, end: object.size };
    if (range) answer['content-range'] = `bytes ${start}-${end - 1}/${object.size}`;
    const stored = wantsStored ? storedChecksums(object) : undefined;
    for (const [name, value] of stored ?? []) answer[`x-amz-checksum-${name}`] = value;
    if (stored?.size) answer['x-amz-checksum-type'] = 'FULL_OBJECT';
    if (range && stored) for (const name of stored.keys()) delete answer[`x-amz-checksum-${name}`];
    const status = range ? 206 : 200;
    if (isHead) {
      answer['content-length'] = String(end - start);
      return { status, fields: answer };
    }
    if (client === undefined && limit !== undefined && end - start > limit) {
      answer[LENGTH] = String(end - start);
      return { status, fields: answer };
    }
    if (algorithm !== undefined) {
      const known = range ? undefined : stored?.get(algorithm);
      answer[CHECKSUM] =
        `${algorithm}=${known ?? (await compute(algorithm, object, { start, end }))}`;
    }
    if (client && fabric) {
      const { signal } = request;
      await request.quietly(() => fabric.send(object.fd, { start, end }, client, signal));
      answer[LENGTH] = String(end - start);
      return { status, fields: answer };
    }
    if (object.bytes) {
      const { bytes } = object;
      return { status, fields: answer, body: range ? bytes.subarray(start, end) : bytes };
    }
    isSent = true;
    return { status, fields: answer, body: { fd: object.fd, start, end } };
  } finally {
    if (object.fd >= 0 && !isSent) native.closeDescriptor(object.fd);
  }
}

const compute = (
  algorithm: ChecksumAlgorithm,
  { bytes, fd }: OpenObject,
  { start, end }: Range,
): Promise<string> =>
  bytes
    ? checksumOf(algorithm, bytes.subarray(start, end))
    : checksumOfFile(algorithm, fd, start, end);

const COPY = 'x-amz-copy-source';

export async function putObject(
  request: ObjectRequest,
  { bucket, key }: Target,
  { folder, fabric }: Store,
): Promise<ObjectResponse> {
  const { fields } = request;
  if (fields[COPY] !== undefined) throw new ObjectError('NotImplemented', { detail: COPY });
  const check = (replaced: Version | undefined) => checkChange(fields, replaced);
  await folder.checkReplace(bucket, key, check); // before the bytes travel
  const file = await folder.own.create();
  try {
    const upload = await receiveUpload(request, file, fabric);
    const version = await folder.finish(file, storedText(upload));
    await folder.replace(file, bucket, key, check);
    return { status: 200, fields: { etag: etagOf(version), ...checksumFields(upload) } };
  } finally {
    await folder.own.discard(file);
  }
}

export const checksumFields = ({ checksums }: Upload): Record<string, string> =>
  Object.fromEntries(
    [...checksums].map(([algorithm, value]) => [`x-amz-checksum-${algorithm}`, value]),
  );

export async function deleteObject(
  { fields }: ObjectRequest,
  { bucket, key }: Target,
  { folder }: Store,
): Promise<ObjectResponse> {
  await folder.remove(bucket, key, (version) => checkChange(fields, version));
  return { status: 204, fields: {} };
}
