import { atCallerOf } from '../base/errors.js';
import type { Param } from '../contract/info-types.js';
import { native } from '../contract/native.js';

/** The libfabric in use: fi_version(3). */
export interface Version {
  readonly major: number;
  readonly minor: number;
  /** Missing if the library does not report it. */
  readonly patch?: number;
  /** The full version: `'1.17.0'`, `'2.1.0amzn5.0'`. */
  readonly string: string;
  /** The version of the headers that this addon was built with: `'1.17'`. */
  readonly builtWith: string;
  /**
   * The newest API version that both this package and the library support, at most `'2.6'`.
   * getInfo() and open() request it. It does not depend on `builtWith`.
   */
  readonly apiVersion: string;
}

/** The version of the libfabric that was loaded. */
export function version(): Version {
  const { number, header, api, string } = native.version();
  const patch = /^\d+\.\d+\.(\d+)/.exec(string)?.[1];
  const [major, minor] = [number >>> 16, number & 0xffff];
  return Object.freeze({
    major,
    minor,
    ...(patch !== undefined && { patch: Number(patch) }),
    string: string || `${major}.${minor}`,
    builtWith: majorMinor(header),
    apiVersion: majorMinor(api),
  });
}

function majorMinor(version: number): string {
  return `${version >>> 16}.${version & 0xffff}`;
}

/**
 * The file of the loaded libfabric, with links resolved. Null if the system does not report it. Two
 * copies of libfabric in one process do not share devices: this is the copy that this package uses.
 */
export function libraryPath(): string | null {
  return native.libraryPath();
}

/**
 * libfabric's text for an error number, fi_strerror(3): `strerror(265)` is `'Truncation error'`.
 *
 * @throws TypeError ERR_INVALID_ARG_TYPE, RangeError ERR_OUT_OF_RANGE.
 */
export function strerror(errno: number): string {
  try {
    return native.strerror(errno);
  } catch (error) {
    throw atCallerOf(strerror, error);
  }
}

/**
 * The environment variables that libfabric and its loadable providers read, as `fi_info -e` lists
 * them: fi_getparams, fi_setup(7). libfabric reads most of them once, at its first use. This call
 * counts as a use.
 *
 * @throws FabricError FI_ENOMEM.
 */
export function getParams(): Param[] {
  return native.getparams();
}
