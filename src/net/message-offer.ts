import { connectionError } from './errors.js';

/** A message that is in the memory of the peer. */
export interface MessageOffer {
  /** Bytes of the message. */
  readonly length: number;
  /** Opens the memory. */
  readonly token: string;
}

export const encodeOffer = ({ length, token }: MessageOffer): Uint8Array =>
  Buffer.from(JSON.stringify([length, token]));

/**
 * Decodes an offer of the peer. What its token opens is not known yet.
 *
 * @param longest the maximum length of a message in bytes.
 * @throws Error EPROTO if it is malformed, EMSGSIZE if the message is too long.
 */
export function decodeOffer(bytes: Uint8Array, longest: number): MessageOffer {
  const offer = parse(Buffer.from(bytes).toString());
  const [length, token] = Array.isArray(offer) ? (offer as unknown[]) : [];
  if (typeof token !== 'string' || typeof length !== 'number' || !Number.isSafeInteger(length))
    throw malformed();
  if (length < 1) throw malformed();
  if (length > longest) throw connectionError('EMSGSIZE', `a message has ${length} bytes`, 'read');
  return { length, token };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const malformed = () => connectionError('EPROTO', 'the offer of the peer is malformed', 'read');
