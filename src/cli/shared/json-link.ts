// Messages of the TCP connections between ranks: four bytes of length, big-endian, and JSON.
import type { Socket } from 'node:net';

const HEAD = 4;

/** Bytes of a message: a thousand ranks' addresses are well below it. */
export const LONGEST_MESSAGE = 2 ** 26;

/** What is wrong with bytes that are not a message. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}

/** Writes a message. Nothing happens where the connection has ended. */
export function writeFrame(socket: Socket, message: object): void {
  if (!socket.writable) return;
  const text = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(HEAD);
  head.writeUInt32BE(text.length);
  socket.write(Buffer.concat([head, text]));
}

/**
 * Calls `read` with each message of a connection; a FrameError destroys it.
 *
 * @param most the longest message that is accepted, in bytes. It bounds the memory that a connection
 * takes, and is asked for every message, because it may rise when the sender has said who it is.
 */
export function readFrames(
  socket: Socket,
  read: (message: unknown) => void,
  most: () => number = () => LONGEST_MESSAGE,
): void {
  let chunks: Buffer[] = [];
  let available = 0;
  let wanted = HEAD;
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    available += chunk.length;
    if (available < wanted) return;
    let bytes = Buffer.concat(chunks);
    try {
      for (;;) {
        wanted = HEAD + (bytes.length < HEAD ? 0 : lengthIn(bytes, most()));
        if (bytes.length < wanted || wanted === HEAD) break;
        const message = messageIn(bytes.subarray(HEAD, wanted));
        bytes = bytes.subarray(wanted);
        read(message);
      }
    } catch (error) {
      socket.destroy(error as Error);
      return;
    }
    chunks = [bytes];
    available = bytes.length;
  });
}

function lengthIn(bytes: Buffer, most: number): number {
  const length = bytes.readUInt32BE(0);
  if (length === 0 || length > most) throw new FrameError(`a message of ${length} bytes`);
  return length;
}

function messageIn(bytes: Buffer): unknown {
  let message: unknown;
  try {
    message = JSON.parse(bytes.toString());
  } catch {
    throw new FrameError('a message that is not JSON');
  }
  if (typeof message !== 'object' || message === null) {
    throw new FrameError('a message that is no object');
  }
  return message;
}
