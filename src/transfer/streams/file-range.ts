import type { FileHandle } from 'node:fs/promises';
import { checkInteger, checkOptions, namesOf } from '../../base/checks.js';
import { invalidArgType } from '../../base/errors.js';

/** The bytes [start, end) of a file that is open. */
export interface FileRange {
  /** The file. The program closes it. */
  readonly file: FileHandle;
  /** Bytes. If omitted, 0. */
  readonly start?: number;
  /** Bytes. If omitted, the end of the file. */
  readonly end?: number;
}

const NAMES = namesOf<FileRange>({ file: 1, start: 1, end: 1 });

const isFile = (value: unknown): value is FileHandle =>
  typeof (value as FileHandle | null)?.fd === 'number' &&
  typeof (value as FileHandle).read === 'function' &&
  typeof (value as FileHandle).datasync === 'function';

/** Whether a value is a FileHandle, or a range of one. */
export const isFileRange = (value: unknown): value is FileHandle | FileRange =>
  isFile(value) || isFile((value as FileRange | null)?.file);

export function checkFileRange(name: string, given: FileHandle | FileRange): FileRange {
  if (isFile(given)) return { file: given };
  const { file, start = 0, end } = checkOptions(name, given, NAMES);
  if (!isFile(file)) throw invalidArgType(`${name}.file`, 'a FileHandle', file);
  checkInteger(`${name}.start`, start, 0);
  if (end === undefined) return { file, start };
  return { file, start, end: checkInteger(`${name}.end`, end, start) };
}
