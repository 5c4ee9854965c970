import { constants } from 'node:os';
import { getSystemErrorName } from 'node:util';
import { FabricError } from '../base/errors.js';
import { ObjectError, type ObjectErrorCode } from './errors.js';

/** The error of a call of the system that has returned -errno. */
export function systemError(errno: number): NodeJS.ErrnoException {
  const code = getSystemErrorName(errno);
  return Object.assign(new Error(`${code}: the system has refused a call`), { code, errno });
}

const { ELOOP, ENOENT, ENOTDIR } = constants.errno;
const ABSENT = [ENOENT, ENOTDIR, ELOOP].map((errno) => -errno);

/**
 * Whether -errno says that a path leads to nothing: no such name, or no folder in its middle. All other errors, such as the
 * lack of descriptors, say nothing about the path.
 */
export const isAbsent = (errno: unknown): boolean =>
  typeof errno === 'number' && ABSENT.includes(errno);

/** The result of a call of the system about a path. Undefined if the path leads to nothing. */
export async function ifPresent<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (isAbsent((error as NodeJS.ErrnoException).errno)) return undefined;
    throw error;
  }
}

/** The error of a file that has become shorter while it was read. */
export const shortened = (): ObjectError =>
  new ObjectError('OperationAborted', { detail: 'the file of the object has become shorter' });

type Answerable = readonly [code: ObjectErrorCode, detail?: string, hint?: string];

const NO_DESCRIPTORS: Answerable = [
  'SlowDown',
  'the server has no free file descriptor (EMFILE)',
  'raise the limit of its process (ulimit -n), or try again later',
];
const NO_THREAD: Answerable = ['SlowDown', 'the server cannot start a thread'];

const KNOWN: Readonly<Record<string, Answerable>> = {
  ENOENT: ['NoSuchKey'],
  ENOTDIR: ['NoSuchKey'], // an object instead of a folder
  ELOOP: ['NoSuchKey'], // a symbolic link
  ENXIO: ['NoSuchKey'], // a socket
  EISDIR: ['KeyConflict'],
  EINVAL: ['InvalidArgument'],
  ENAMETOOLONG: ['KeyTooLongError'],
  EACCES: [
    'AccessDenied',
    'the process of the server may not use the file (EACCES)',
    'check owner and mode of the files of the server',
  ],
  EPERM: [
    'AccessDenied',
    'the system of the server forbids the operation (EPERM)',
    'check owner, mode and attributes of the files of the server',
  ],
  EROFS: [
    'AccessDenied',
    'the file system of the server is read-only (EROFS)',
    'mount it for writing',
  ],
  EMFILE: NO_DESCRIPTORS,
  ENFILE: [
    'SlowDown',
    'the host of the server has no free file descriptor (ENFILE)',
    'raise its sysctl fs.file-max, or try again later',
  ],
  ENOMEM: ['SlowDown', 'the host of the server has no free memory (ENOMEM)'],
  ENOSPC: [
    'InsufficientStorage',
    'the file system of the server is full (ENOSPC)',
    'make room on the server: df shows blocks, df -i inodes',
  ],
  EDQUOT: [
    'InsufficientStorage',
    'the disk quota of the server is used up (EDQUOT)',
    'raise the quota, or make room on the server',
  ],
  EFBIG: [
    'EntityTooLarge',
    'the file system of the server, or the limit of its process, permits no file of this length (EFBIG)',
    'raise the limit of its process (ulimit -f), or store several objects',
  ],
  ENODATA: ['OperationAborted'], // its file has become shorter
  ERR_CLOSED: ['FabricFailed', 'the engine of the server is closed'],
  FI_EKEYREJECTED: [
    'InvalidToken',
    'a token has expired by the clock of the server, or was used before',
    'try again, and compare the clocks of the hosts',
  ],
  FI_EMFILE: NO_DESCRIPTORS,
  ERR_WORKER_INIT_FAILED: NO_THREAD,
  ERR_WORKER_OUT_OF_MEMORY: NO_THREAD,
};

/** What the client learns of an error. Its text may have paths of the server, so it gets only the code. */
export function answerableError(error: unknown): ObjectError {
  if (error instanceof ObjectError) return error;
  const known = KNOWN[(error as NodeJS.ErrnoException | undefined)?.code ?? ''];
  if (known !== undefined) {
    const [code, detail, hint] = known;
    return new ObjectError(code, { detail, hint, cause: error });
  }
  if (FabricError.is(error)) return new ObjectError('FabricFailed', { detail: error.message });
  return new ObjectError('InternalError', { cause: error });
}
