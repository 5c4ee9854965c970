// Multipart uploads of S3: create, upload a part, complete, abort.
import { xmlResponse } from './bucket-requests.js';
import { Budget } from './budget.js';
import { checkSame, checksumOfFile } from './checksums.js';
import { ObjectError } from './errors.js';
import { type Target, wholeNumber } from './keys.js';
import { checksumFields, type Store } from './object-requests.js';
import { type ObjectRequest, type ObjectResponse, withWholeBody } from './request.js';
import { storedText } from './stored-checksums.js';
import { checkBody, checksumsIn, receiveUpload } from './upload-body.js';
import type { Uploads } from './uploads.js';
import { checkChange, etagOf } from './versions.js';
import { MAX_PARTS, partsOf } from './xml.js';

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
  if (method === 'POST' && query.has('uploads')) return create(target, uploads);
  if (id === null) return undefined;
  if (method === 'PUT') return addPart(request, target, store, uploads, id);
  if (method === 'POST') return complete(request, target, store, uploads, id);
  if (method === 'DELETE')
    return uploads.remove(id, target).then(() => ({ status: 204, fields: {} }));
  return undefined;
}

async function create({ bucket, key }: Target, uploads: Uploads): Promise<ObjectResponse> {
  const UploadId = await uploads.create({ bucket, key });
  return xmlResponse('InitiateMultipartUploadResult', { Bucket: bucket, Key: key, UploadId });
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
  return uploads.receiving(id, target, async () => {
    const file = await folder.own.create();
    try {
      const upload = await receiveUpload(request, file, fabric);
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
  checkChange(fields, folder.version(bucket, key)); // before the parts are copied
  const file = await folder.own.create();
  try {
    const crc = await request.quietly(() => uploads.join(id, target, parts, file.handle));
    const expected = checksumsIn({
      'x-amz-checksum-crc64nvme': fields['x-amz-checksum-crc64nvme'],
    });
    const wanted = expected.get('crc64nvme');
    const { size } = await file.handle.stat();
    const actual = crc ?? (wanted && (await checksumOfFile('crc64nvme', file.handle.fd, 0, size)));
    if (wanted !== undefined) checkSame('crc64nvme', wanted, actual as string);
    const checksums = new Map(actual === undefined ? [] : [['crc64nvme', actual] as const]);
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
