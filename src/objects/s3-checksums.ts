// The names that S3 gives to checksums: in header fields, and in the XML of multipart uploads.
import type { UploadAlgorithm } from './checksums.js';
import { ObjectError } from './errors.js';
import { type HashAlgorithm, hashOfBytes } from './hash-thread.js';
import type { Fields } from './versions.js';

/** An algorithm whose checksums have a name of S3. */
export type S3Algorithm = Exclude<UploadAlgorithm, 'md5'>;

const ALGORITHMS: readonly S3Algorithm[] = ['crc64nvme', 'sha256', 'sha1', 'crc32', 'crc32c'];
const isKnown = (name: string): name is S3Algorithm => ALGORITHMS.includes(name as S3Algorithm);

const PREFIX = 'x-amz-checksum-';
/** Header fields that are no checksums. */
const OTHERS = ['algorithm', 'mode', 'type'];

/** The header fields of checksums, and of those of trailers. */
export const HEADERS: ReadonlyMap<string, UploadAlgorithm> = new Map<string, UploadAlgorithm>([
  ...ALGORITHMS.map((algorithm) => [`${PREFIX}${algorithm}`, algorithm] as const),
  ['content-md5', 'md5'],
]);

const notComputed = (name: string) =>
  new ObjectError('NotImplemented', { detail: `the server does not compute ${name}` });

/** Refuses checksums that would not be checked. @param names of header fields or trailers. */
export function checkHeaders(names: Iterable<string>): void {
  for (const name of names) {
    if (!name.startsWith(PREFIX) || HEADERS.has(name)) continue;
    if (!OTHERS.includes(name.slice(PREFIX.length))) throw notComputed(name);
  }
}

/** The checksums in header fields, in base64. */
export function checksumsIn(fields: Fields): Map<UploadAlgorithm, string> {
  checkHeaders(Object.keys(fields));
  const found = new Map<UploadAlgorithm, string>();
  for (const [header, algorithm] of HEADERS) {
    const value = fields[header];
    if (value === undefined) continue;
    checkForm(header, algorithm, value);
    found.set(algorithm, value);
  }
  return found;
}

const BYTES: Readonly<Record<UploadAlgorithm, number>> = {
  crc64nvme: 8,
  sha256: 32,
  sha1: 20,
  crc32: 4,
  crc32c: 4,
  md5: 16,
};

/** Refuses what is no checksum. That of the checksums of parts ends with their number. */
function checkForm(header: string, algorithm: UploadAlgorithm, value: string): void {
  const digest = algorithm === 'md5' ? value : value.replace(/-\d{1,5}$/, '');
  const bytes = Buffer.from(digest, 'base64');
  if (bytes.length === BYTES[algorithm] && bytes.toString('base64') === digest) return;
  if (algorithm === 'md5') throw new ObjectError('InvalidDigest');
  throw invalid(`${header} is no ${algorithm} in base64`);
}

/** The checksums of a part in the list of a CompleteMultipartUpload, such as `<ChecksumSHA256>`. */
export function listedChecksums(xml: string): Map<S3Algorithm, string> {
  const found = new Map<S3Algorithm, string>();
  for (const [, name = '', value = ''] of xml.matchAll(/<Checksum(\w+)>([^<]*)<\/Checksum\1>/g)) {
    const algorithm = name.toLowerCase();
    if (!isKnown(algorithm)) throw notComputed(`Checksum${name}`);
    found.set(algorithm, value.trim());
  }
  return found;
}

const TYPES = ['COMPOSITE', 'FULL_OBJECT'] as const;
type ChecksumType = (typeof TYPES)[number];

const invalid = (detail: string) => new ObjectError('InvalidRequest', { detail });

function typeIn(fields: Fields): ChecksumType | undefined {
  const given = fields['x-amz-checksum-type'];
  const type = TYPES.find((each) => each === given?.toUpperCase());
  if (given !== undefined && type === undefined)
    throw invalid(`x-amz-checksum-type is ${TYPES.join(' or ')}`);
  return type;
}

/** The checksums that a multipart upload was created for. */
export interface UploadChecksums {
  readonly algorithm: S3Algorithm;
  readonly type: ChecksumType;
}

const usualType = (algorithm: S3Algorithm): ChecksumType =>
  algorithm === 'crc64nvme' ? 'FULL_OBJECT' : 'COMPOSITE';

function checkType(algorithm: S3Algorithm, type: ChecksumType): void {
  const isHash = algorithm === 'sha1' || algorithm === 'sha256';
  const isWrong = type === 'COMPOSITE' ? algorithm === 'crc64nvme' : isHash;
  if (isWrong) throw invalid(`the checksums of ${algorithm} are not ${type}`);
}

/** What a CreateMultipartUpload says of checksums. */
export function createdChecksums(fields: Fields): UploadChecksums | undefined {
  const given = fields[`${PREFIX}algorithm`];
  const type = typeIn(fields);
  if (given === undefined && type !== undefined)
    throw invalid('x-amz-checksum-type needs x-amz-checksum-algorithm');
  if (given === undefined) return undefined;
  const algorithm = given.toLowerCase();
  if (!isKnown(algorithm)) {
    const known = ALGORITHMS.map((each) => each.toUpperCase()).join(', ');
    throw invalid(`x-amz-checksum-algorithm is one of ${known}`);
  }
  const created = { algorithm, type: type ?? usualType(algorithm) };
  checkType(algorithm, created.type);
  return created;
}

/** The same as header fields of the answer. */
export const createdFields = (created: UploadChecksums | undefined): Record<string, string> =>
  created
    ? {
        [`${PREFIX}algorithm`]: created.algorithm.toUpperCase(),
        [`${PREFIX}type`]: created.type,
      }
    : {};

/** Refuses a part with checksums of another algorithm than its upload was created for. */
export function checkPart(
  created: UploadChecksums | undefined,
  given: Iterable<UploadAlgorithm>,
): void {
  if (created === undefined) return;
  const others = [...given].filter((each) => each !== 'md5' && each !== created.algorithm);
  if (others.length > 0)
    throw invalid(`the upload was created for ${created.algorithm}, and the part has ${others[0]}`);
}

/** A checksum of the object that a CompleteMultipartUpload has. */
export interface ExpectedChecksum {
  readonly algorithm: S3Algorithm;
  readonly type: ChecksumType;
  readonly value: string;
}

/** What a CompleteMultipartUpload says of the object. */
export function expectedChecksums(
  fields: Fields,
  created: UploadChecksums | undefined,
): ExpectedChecksum[] {
  const type = typeIn(fields);
  if (type && created && type !== created.type)
    throw invalid(`the upload was created for checksums that are ${created.type}`);
  return [...checksumsIn(fields)].flatMap(([algorithm, value]) => {
    if (algorithm === 'md5') return []; // that of the list
    const ofParts = value.includes('-') ? 'COMPOSITE' : undefined;
    const each = ofParts ?? type ?? created?.type ?? usualType(algorithm);
    checkType(algorithm, each);
    return [{ algorithm, type: each, value }];
  });
}

/** The checksum of the checksums of parts. It ends with their number, which clients may leave out. */
export async function compositeOf(
  algorithm: HashAlgorithm,
  parts: readonly string[],
): Promise<string> {
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part, 'base64')));
  return `${await hashOfBytes(algorithm, bytes)}-${parts.length}`;
}
