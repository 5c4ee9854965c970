// What ObjectClient and ObjectServer say to each other beyond S3.

/** A path that is no bucket: what a client needs to know of the server. */
export const WELCOME = '/.libfabric';

/** The protocol of an upgraded connection that carries requests as messages: channel.ts. */
export const CHANNEL = 'libfabric-objects';

/** A request's header: the most bytes that the answer may bring. A longer object is described only. */
export const INLINE = 'x-libfabric-inline';
/** An answer's header: the bytes that it would have brought, or that the fabric has moved. */
export const LENGTH = 'x-libfabric-length';
/** A request's header: an algorithm. The answer has its value for the bytes that travel: `crc64nvme=...`. */
export const CHECKSUM = 'x-libfabric-checksum';
/** An answer's header: the code of its error. */
export const ERROR = 'x-libfabric-error';

/** The most bytes of an object that travel in the answer when the fabric could carry them. */
export const INLINED = 256 * 1024;

/** The minimum and the maximum of a server's pieces in bytes. */
export const MIN_PIECE = 4096;
export const MAX_PIECE = 2 ** 30;

/** The answer to WELCOME. */
export interface Welcome {
  /** The address of the server's engine. Undefined: it has none. */
  readonly address?: string;
  /** The most bytes that a token may open. */
  readonly piece?: number;
}
