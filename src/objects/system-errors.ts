import { getSystemErrorName } from 'node:util';
import { FabricError } from '../base/errors.js';
import { ObjectError, type ObjectErrorCode } from './errors.js';

/** The error of a call of the system that has returned -errno. */
export function systemError(errno: number): NodeJS.ErrnoException {
  const code = getSystemErrorName(errno);
  return Object.assign(new Error(`${code}: the system has refused a call`), { code, errno });
}

/** The error of a file that has become shorter while it was read. */
export const shortened = (): ObjectError =>
  new ObjectError('OperationAborted', { detail: 'the file of the object has become shorter' });

const CODES: Readonly<Record<string, ObjectErrorCode>> = {
  ENOENT: 'NoSuchKey',
  ENOTDIR: 'NoSuchKey', // an object instead of a folder
  ELOOP: 'NoSuchKey', // a symbolic link
  ENXIO: 'NoSuchKey', // a socket
  EISDIR: 'KeyConflict',
  EINVAL: 'InvalidArgument',
  ENAMETOOLONG: 'KeyTooLongError',
  EACCES: 'AccessDenied',
  EPERM: 'AccessDenied',
  EROFS: 'AccessDenied',
  EMFILE: 'SlowDown',
  ENFILE: 'SlowDown',
  ENOSPC: 'InsufficientStorage',
  EDQUOT: 'InsufficientStorage',
  EFBIG: 'EntityTooLarge',
  ENODATA: 'OperationAborted', // its file has become shorter
  FI_EKEYREJECTED: 'InvalidToken',
};

/** What the client learns of an error. Its text may have paths of the server, so it gets only the code. */
export function answerableError(error: unknown): ObjectError {
  if (error instanceof ObjectError) return error;
  const code = CODES[(error as NodeJS.ErrnoException).code ?? ''];
  if (code !== undefined) return new ObjectError(code, { cause: error });
  if (FabricError.is(error)) return new ObjectError('FabricFailed', { detail: error.message });
  return new ObjectError('InternalError', { cause: error });
}
