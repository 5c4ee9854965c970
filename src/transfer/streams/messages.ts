// The messages of a stream between two engines. The owner of a stream makes its token, and offers the memory of each
// chunk when it is the chunk's turn. The other engine writes or reads the chunks. Memory is taken for no chunk that the reader
// has not asked for, and the reader takes memory for no chunk before the memory of the writer is filled. So nobody waits for
// the program of a peer with memory that others wait for.
import { Reader, Writer } from '../sealed.js';

/** A message of a stream. */
export type StreamMessage =
  /** The peer uses the token. Its chunks have at most so many bytes. */
  | { readonly kind: 'open'; readonly chunk: number }
  /** The owner offers the memory of the next chunk: empty if the peer writes, full if it reads. */
  | { readonly kind: 'chunk'; readonly index: number; readonly token: string }
  /** The side with the source: how many chunks and bytes there are. */
  | { readonly kind: 'end'; readonly chunks: number; readonly byteLength: number }
  /** The sender has failed, or uses the stream no more. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** The side that reads: how many chunks it has asked for since the stream was opened. */
  | { readonly kind: 'wanted'; readonly chunks: number }
  /** The peer that writes: for how many chunks it has filled memory since it has opened the stream. */
  | { readonly kind: 'filled'; readonly chunks: number };

/** A message, and the stream that it belongs to. */
export interface AddressedMessage {
  /** The number of the stream at its owner. */
  readonly stream: number;
  /** Whether the owner of the stream receives it. */
  readonly toOwner: boolean;
  readonly message: StreamMessage;
}

const KINDS = ['open', 'chunk', 'end', 'failed', 'wanted', 'filled'] as const;
const TO_OWNER = 0x10;
const MAX_REASON = 1024; // bytes

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString();

export function encodeMessage({ stream, toOwner, message }: AddressedMessage): Uint8Array {
  const writer = new Writer()
    .byte(KINDS.indexOf(message.kind) + (toOwner ? TO_OWNER : 0))
    .count(stream);
  if (message.kind === 'open') writer.count(message.chunk);
  if (message.kind === 'chunk') writer.count(message.index).bytes(Buffer.from(message.token));
  if (message.kind === 'wanted' || message.kind === 'filled') writer.count(message.chunks);
  if (message.kind === 'end') writer.count(message.chunks).count(message.byteLength);
  if (message.kind === 'failed') writer.bytes(Buffer.from(message.reason).subarray(0, MAX_REASON));
  return writer.done();
}

/** Returns undefined if the bytes are not a message of a stream. */
export function decodeMessage(bytes: Uint8Array): AddressedMessage | undefined {
  try {
    const reader = new Reader('message', bytes);
    const first = reader.byte();
    const stream = reader.count();
    const message = contentOf(KINDS[first % TO_OWNER], reader);
    if (message === undefined || first >= 2 * TO_OWNER || !reader.atEnd) return undefined;
    return { stream, toOwner: first >= TO_OWNER, message };
  } catch {
    return undefined;
  }
}

function contentOf(
  kind: (typeof KINDS)[number] | undefined,
  reader: Reader,
): StreamMessage | undefined {
  switch (kind) {
    case 'open':
      return { kind, chunk: Math.max(reader.count(), 1) };
    case 'chunk':
      return { kind, index: reader.count(), token: textOf(reader.bytes()) };
    case 'end':
      return { kind, chunks: reader.count(), byteLength: reader.count() };
    case 'wanted':
    case 'filled':
      return { kind, chunks: reader.count() };
    case 'failed':
      return { kind, reason: textOf(reader.bytes()) };
    default:
      return undefined;
  }
}
