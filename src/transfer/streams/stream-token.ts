import { invalidArgValue } from '../../base/errors.js';
import type { Access } from '../../diagnostics/transfer-state.js';
import { isOf, seal, unseal, Writer } from '../sealed.js';
import { checkEngines, checkExpiry } from '../token.js';

/** The content of the token of a stream. */
export interface StreamToken {
  /** What the peer does: `'write'` uploads, `'read'` downloads. */
  readonly access: Access;
  readonly owner: bigint;
  /** The only engine that may use the token. */
  readonly grantee: bigint;
  /** The number of the stream at its owner. */
  readonly stream: number;
  /** The most bytes of a chunk. */
  readonly chunk: number;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

const ACCESS = ['write', 'read'] as const;

export function encodeStreamToken(token: StreamToken, secret: string | Uint8Array): string {
  const writer = new Writer()
    .byte(ACCESS.indexOf(token.access))
    .long(token.owner)
    .long(token.grantee)
    .count(token.stream)
    .count(token.chunk)
    .count(token.expires);
  return seal('stream', writer.done(), secret);
}

/** Whether a text looks like the token of a stream, not like that of memory. */
export const isStreamToken = (token: unknown): token is string => isOf('stream', token);

/**
 * Opens the token of a stream, for a peer and this engine.
 *
 * @throws TypeError ERR_INVALID_ARG_VALUE; FabricError FI_EKEYREJECTED if it has expired.
 */
export function decodeStreamToken(
  text: string,
  access: Access,
  engines: { owner: bigint; self: bigint; secret: string | Uint8Array },
): StreamToken {
  const reader = unseal('stream', text, engines.secret);
  const given = ACCESS[reader.byte()];
  const owner = reader.long();
  const grantee = reader.long();
  const stream = reader.count();
  const chunk = reader.count();
  const expires = reader.count();
  if (!reader.atEnd || given === undefined || chunk === 0) throw reader.malformed();
  checkEngines({ owner, grantee }, engines.owner, engines.self);
  if (given !== access) {
    throw invalidArgValue('token', given === 'write' ? 'is for an upload' : 'is for a download');
  }
  checkExpiry(expires, 'stream');
  return { access: given, owner, grantee, stream, chunk, expires };
}
