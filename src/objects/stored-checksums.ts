// The checksums of a file, in an attribute of it: the time of the version, and `algorithm=value` for each.
import type { OpenObject } from './folder.js';
import type { Upload } from './upload-body.js';

/** The checksums that a PUT has stored. None if the file was changed since. */
export function storedChecksums({
  checksum,
  modified,
}: Pick<OpenObject, 'checksum' | 'modified'>): Map<string, string> {
  const [time, ...values] = checksum.split(' ');
  if (Number(time) !== modified) return new Map();
  return new Map(
    values.map((value) => {
      const at = value.indexOf('=');
      return [value.slice(0, at), value.slice(at + 1)];
    }),
  );
}

/** What is stored with the bytes of a request. */
export const storedText = ({ checksums }: Upload): string =>
  [...checksums]
    .filter(([algorithm]) => algorithm !== 'md5') // S3 has no checksum of this name
    .map(([algorithm, value]) => `${algorithm}=${value}`)
    .join(' ');
