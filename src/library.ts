import { atCallerOf } from './errors.js';
import type { ParamType } from './flags.js';
import { native } from './native.js';

/** The libfabric in use: fi_version(3). */
export interface Version {
  readonly major: number;
  readonly minor: number;
  /** Left out where the library does not tell. */
  readonly patch?: number;
  /** The whole of it: `'1.17.0'`, `'2.1.0amzn5.0'`. */
  readonly string: string;
  /** That of the headers this addon was built with: `'1.17'`. */
  readonly builtWith: string;
  /**
   * The newest version of the interfaces that both this package and the library know, `'2.6'` at most:
   * what getInfo() and open() ask for. It does not depend on `builtWith`.
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
 * The file of the libfabric that was loaded, links resolved; null where the system does not tell.
 * Two copies of libfabric in one process do not share devices: this is the one in use here.
 */
export function libraryPath(): string | null {
  return native.libraryPath();
}

/** libfabric's text for an error number, fi_strerror(3): `strerror(265)` is `'Truncation error'`. */
export function strerror(errno: number): string {
  try {
    return native.strerror(errno);
  } catch (error) {
    throw atCallerOf(strerror, error);
  }
}

/** A setting of libfabric or of one of its providers: an environment variable. */
export interface Param {
  /** `'FI_EFA_TX_SIZE'`. */
  readonly name: string;
  readonly type: ParamType;
  /** What libfabric says about it, in its own words. */
  readonly helpString: string;
  /** Its value in this process; null where it is not set, and the provider's default holds. */
  readonly value: string | null;
}

/**
 * The environment variables that libfabric and the providers which could be loaded here read, as
 * `fi_info -e` lists them: fi_getparams, fi_setup(7). Most are read once, when libfabric is first used,
 * which this call does.
 *
 * @throws FabricError where there is no memory for the list.
 */
export function getParams(): Param[] {
  return native.getparams();
}
