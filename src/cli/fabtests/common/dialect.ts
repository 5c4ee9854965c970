import { version } from '../../../info/library.js';

/** The differences on the wire between releases of fabtests. */
export interface Dialect {
  /** The release of fabtests: 117 is 1.17. */
  readonly release: number;
  /** Bytes of an address out of band, and the minimum room of a transfer: 1024 since 1.18. */
  readonly controlBytes: number;
  /** Since 1.19 every RMA operation of a window has its own place in the buffers. */
  readonly spreads: boolean;
  /** Since 1.22 a handshake over the out-of-band socket precedes the addresses. */
  readonly handshakes: boolean;
  /** Bytes of a sync message: 0 since 2.0, so that it changes no memory. */
  readonly syncBytes: number;
  /** Since 2.4 the warm-up completes before the clock starts, and a test with `-b` also ends out of band. */
  readonly drains: boolean;
}

/** The dialect of a release such as `'1.17'`. */
export function dialectOf(release: string): Dialect {
  const [major = 0, minor = 0] = release.split('.').map(Number);
  const number = major * 100 + minor;
  const since = (from: number) => number >= from;
  return {
    release: number,
    controlBytes: since(118) ? 1024 : 256,
    spreads: since(119),
    handshakes: since(122),
    syncBytes: since(200) ? 0 : 1,
    drains: since(204),
  };
}

/** The release of fabtests that matches the loaded libfabric. */
export function usualRelease(): string {
  const { major, minor } = version();
  return `${major}.${minor}`;
}

/** The lower of two releases. */
export function lowerRelease(a: string, b: string): string {
  return a.localeCompare(b, 'en', { numeric: true }) <= 0 ? a : b;
}
