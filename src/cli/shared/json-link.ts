// JSON over TCP: each message is four bytes of length, big-endian, and the text of a JSON object.
import type { Socket } from 'node:net';

const HEADER_BYTES = 4;

/** Received bytes are not a valid message. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}

/** A message in its wire format. */
export function frameOf(message: object): Buffer {
  const text = Buffer.from(JSON.stringify(message));
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(text.length);
  return Buffer.concat([header, text]);
}

/** How a link treats what it receives. */
export interface JsonLinkOptions<In> {
  /**
   * The longest accepted message, in bytes. It bounds the memory of a connection. The link calls it
   * for every message, because the limit may rise once the peer is known.
   */
  readonly maxBytes: () => number;
  /** The most messages that may wait for receive(). */
  readonly maxWaiting?: number;
  /** Handles each message. Returns false if receive() is to return the message. Throws FrameError for a wrong one. */
  readonly onMessage?: (message: In) => boolean;
}

/**
 * A TCP connection that carries JSON objects. It ends at the first bytes that are not a message.
 */
export class JsonLink<In extends object, Out extends object> {
  /** Resolves with the reason when the connection is closed. */
  readonly closed: Promise<Error>;
  readonly #socket: Socket;
  readonly #options: JsonLinkOptions<In>;
  readonly #waiting: In[] = [];
  readonly #abort = new AbortController();
  #ended: Error | undefined;
  #wake: (() => void) | undefined;
  #chunks: Buffer[] = [];
  #available = 0;
  #wanted = HEADER_BYTES;

  constructor(socket: Socket, options: JsonLinkOptions<In>) {
    this.#socket = socket;
    this.#options = options;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) => this.#end(error));
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.#end(new Error('the peer has closed the connection'));
        resolve(this.#ended as Error);
      });
    });
    socket.resume();
  }

  /** The number of messages that receive() would return at once. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Why no more messages arrive; undefined while the connection is open. */
  get ended(): Error | undefined {
    return this.#ended;
  }

  /** Aborts when either side has closed the connection. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Sends a message. Does nothing if the connection is closed. */
  send(message: Out): void {
    if (this.#socket.writable) this.#socket.write(frameOf(message));
  }

  /**
   * The next message that onMessage() did not handle. Undefined if none arrives before the
   * connection ends or so many milliseconds have passed.
   */
  async receive(milliseconds = Number.POSITIVE_INFINITY): Promise<In | undefined> {
    await this.#arrival(milliseconds);
    return this.#waiting.shift();
  }

  /** Resolves when receive() has a message, or will never have one. */
  arrival(): Promise<void> {
    return this.#arrival(Number.POSITIVE_INFINITY);
  }

  async #arrival(milliseconds: number): Promise<void> {
    let late = false;
    const expire = () => {
      late = true;
      this.#wake?.();
    };
    const timer = Number.isFinite(milliseconds) ? setTimeout(expire, milliseconds) : undefined;
    while (this.#waiting.length === 0 && this.#ended === undefined && !late) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    clearTimeout(timer);
  }

  /** Ends the connection after all sent messages have been transmitted. */
  end(): void {
    this.#socket.end();
  }

  /** Lets the process end while the connection is open. */
  unref(): void {
    this.#socket.unref();
  }

  /** Ends the connection now. */
  destroy(): void {
    this.#socket.destroy();
  }

  #end(reason: Error): void {
    this.#ended ??= reason;
    this.#wake?.();
    this.#abort.abort();
  }

  #read(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#available += chunk.length;
    if (this.#available < this.#wanted) return;
    let bytes = Buffer.concat(this.#chunks);
    try {
      for (;;) {
        const length = bytes.length < HEADER_BYTES ? 0 : this.#lengthIn(bytes);
        this.#wanted = HEADER_BYTES + length;
        if (bytes.length < this.#wanted || length === 0) break;
        const message = messageIn(bytes.subarray(HEADER_BYTES, this.#wanted)) as In;
        bytes = bytes.subarray(this.#wanted);
        this.#take(message);
      }
    } catch (error) {
      this.#socket.destroy(error as Error);
      return;
    }
    this.#chunks = [bytes];
    this.#available = bytes.length;
  }

  #lengthIn(bytes: Buffer): number {
    const length = bytes.readUInt32BE(0);
    const valid = length > 0 && length <= this.#options.maxBytes();
    if (!valid) throw new FrameError(`a message of ${length} bytes`);
    return length;
  }

  #take(message: In): void {
    const { onMessage, maxWaiting = Number.POSITIVE_INFINITY } = this.#options;
    if (onMessage?.(message)) return;
    if (this.#waiting.length >= maxWaiting) throw new FrameError('it does not wait for answers');
    this.#waiting.push(message);
    this.#wake?.();
  }
}

function messageIn(bytes: Buffer): object {
  let message: unknown;
  try {
    message = JSON.parse(bytes.toString());
  } catch {
    throw new FrameError('a message that is not JSON');
  }
  if (typeof message === 'object' && message !== null && !Array.isArray(message)) return message;
  throw new FrameError('a message that is not an object');
}
