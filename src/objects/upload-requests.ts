// Multipart uploads of S3: create, upload a part, complete, abort.
import { xmlResponse } from './bucket-requests.js';
import { Budget } from './budget.js';
import { checkSame, checksumOfFile, type UploadAlgorithm } from './checksums.js';
import { ObjectError } from './errors.js';
import type { HashAlgorithm } from './hash-thread.js';
import { type Target, wholeNumber } from './keys.js';
import { checksumFields, type Store } from './object-requests.js';
import { type ObjectRequest, type ObjectResponse, withWholeBody } from './request.js';
import {
  checkPart,
  compositeOf,
  createdChecksums,
  createdFields,
  type ExpectedChecksum,
  expectedChecksums,
  type S3Algorithm,
} from './s3-checksums.js';
import { storedText } from './stored-checksums.js';
import { checkBody, receiveUpload } from './upload-body.js';
import type { JoinedParts, Uploads } from './uploads.js';
import { checkChange, etagOf } from './versions.js';
import { MAX_PARTS, partsOf } from './xml.js';

const SIZE = 'x-amz-mp-object-size';
const MAX_LIST = 4 * 1024 * 1024; // bytes of the XML with 10,000 parts
/** Completions at the same time. Each has a list of parts, and a buffer; further ones wait. */
const joining = new Budget(16);

/** The answer to a request about an upload. Undefined if it is about something else. */
export function uploadRequest(
  request: ObjectRequest,
  target: Target,
  store: Store,
  uploads: Uploads,
): Promise<ObjectResponse> | undefined {
  const { method } = request;
  const { query } = target;
  const id = query.get('uploadId');
  if (method === 'POST' && query.has('uploads')) return create(request, target, store, uploads);
  if (id === null) return undefined;
  if (method === 'PUT') return addPart(request, target, store, uploads, id);
  if (method === 'POST') return complete(request, target, store, uploads, id);
  if (method === 'DELETE')
    return uploads.remove(id, target).then(() => ({ status: 204, fields: {} }));
  return undefined;
}

async function create(
  { fields }: ObjectRequest,
  { bucket, key }: Target,
  { folder }: Store,
  uploads: Uploads,
): Promise<ObjectResponse> {
  await folder.checkReplace(bucket, key, () => {}); // before the parts travel
  const checksums = createdChecksums(fields);
  const UploadId = await uploads.create({ bucket, key, checksums });
  const names = { Bucket: bucket, Key: key, UploadId };
  const answer = xmlResponse('InitiateMultipartUploadResult', names);
  return { ...answer, fields: { ...answer.fields, ...createdFields(checksums) } };
}

async function addPart(
  request: ObjectRequest,
  target: Target,
  { folder, fabric }: Store,
  uploads: Uploads,
  id: string,
): Promise<ObjectResponse> {
  const number = wholeNumber('partNumber', target.query.get('partNumber') ?? '');
  if (number < 1 || number > MAX_PARTS)
    throw new ObjectError('InvalidArgument', { detail: `partNumber is 1 to ${MAX_PARTS}` });
  if (request.fields['x-amz-copy-source'] !== undefined) throw new ObjectError('NotImplemented');
  return uploads.receiving(id, target, async (created) => {
    const file = await folder.own.create();
    try {
      const check = (algorithms: Iterable<UploadAlgorithm>) => checkPart(created, algorithms);
      const upload = await receiveUpload(request, file, fabric, check);
      const etag = await uploads.addPart(id, target, number, file, upload);
      return { status: 200, fields: { etag, ...checksumFields(upload) } };
    } finally {
      await folder.own.discard(file);
    }
  });
}

function complete(
  request: ObjectRequest,
  target: Target,
  store: Store,
  uploads: Uploads,
  id: string,
): Promise<ObjectResponse> {
  return withWholeBody(request, MAX_LIST, store.arriving, joining, (body) =>
    join(request, target, store, uploads, id, body),
  );
}

async function join(
  request: ObjectRequest,
  target: Target,
  { folder }: Store,
  uploads: Uploads,
  id: string,
  body: Buffer,
): Promise<ObjectResponse> {
  const { bucket, key } = target;
  const { fields } = request;
  await checkBody(fields, body);
  const parts = partsOf(body.toString());
  const expected = expectedChecksums(fields, await uploads.checksumsOf(id, target));
  const wantedSize = fields[SIZE] === undefined ? undefined : wholeNumber(SIZE, fields[SIZE]);
  await folder.checkReplace(bucket, key, (replaced) => checkChange(fields, replaced)); // before the parts are copied
  const file = await folder.own.create();
  try {
    const ofParts = expected.filter(({ type }) => type === 'COMPOSITE');
    const algorithms = ofParts.map(({ algorithm }) => algorithm);
    const { size, checksums } = await request.quietly(async () => {
      const joined = await uploads.join(id, target, parts, algorithms, file.handle);
      if (wantedSize !== undefined && wantedSize !== joined.size)
        throw new ObjectError('InvalidRequest', { detail: `the parts have ${joined.size} bytes` });
      return { ...joined, checksums: await checkedChecksums(expected, joined, file.handle.fd) };
    });
    const version = await folder.finish(file, storedText({ length: size, checksums }));
    await folder.replace(file, bucket, key, (replaced) => {
      checkChange(fields, replaced);
      uploads.checkStays(id);
    });
    await uploads.ended(id);
    const elements = {
      Location: `/${bucket}/${key}`,
      Bucket: bucket,
      Key: key,
      ETag: etagOf(version),
    };
    return xmlResponse('CompleteMultipartUploadResult', elements);
  } finally {
    await folder.own.discard(file);
  }
}

/** Checks the checksums of an object. Returns those of all its bytes. */
async function checkedChecksums(
  expected: readonly ExpectedChecksum[],
  { size, crc, checksums }: JoinedParts,
  fd: number,
): Promise<Map<S3Algorithm, string>> {
  const whole = new Map<S3Algorithm, string>(crc === undefined ? [] : [['crc64nvme', crc]]);
  for (const { algorithm, type, value } of expected) {
    if (type === 'COMPOSITE') {
      const actual = await compositeOf(algorithm as HashAlgorithm, checksums.get(algorithm) ?? []);
      const [digest = ''] = actual.split('-');
      checkSame(algorithm, value, value.includes('-') ? actual : digest);
      continue;
    }
    const actual = whole.get(algorithm) ?? (await checksumOfFile(algorithm, fd, 0, size));
    checkSame(algorithm, value, actual);
    whole.set(algorithm, actual);
  }
  return whole;
}
