import type { Duplex } from 'node:stream';
import { MemoryReader, type OnRead } from './onread.js';
import type { SocketStream } from './socket-stream.js';
import { inLaterTurn, takeTurn } from './turns.js';

/** Bytes that a socket whose own side has ended reads before the program asks for them. */
const AHEAD = 64 * 1024;

/** What a reader tells its socket. */
export interface ReaderEvents {
  /** Bytes or the end have arrived. */
  active(): void;
  /** The peer has ended. */
  ended(): void;
}

/** Brings what arrives at a stream into the buffer of a socket, or into memory of the program. */
export class SocketReader {
  readonly #socket: Duplex;
  readonly #stream: SocketStream;
  readonly #events: ReaderEvents;
  readonly #onread: MemoryReader | undefined;
  #bytesRead = 0;
  #wantsBytes = false;
  #hasEnded = false;
  #loss: Error | undefined;
  /** Bytes, or the end, that were taken and wait for a turn. */
  #held: Buffer | null | undefined;
  #waitsForTurn = false;

  constructor(
    socket: Duplex,
    stream: SocketStream,
    onread: OnRead | null | undefined,
    events: ReaderEvents,
  ) {
    this.#socket = socket;
    this.#stream = stream;
    this.#events = events;
    this.#onread = onread ? new MemoryReader(onread, socket) : undefined;
  }

  /** The bytes that were read. */
  get bytesRead(): number {
    return this.#bytesRead;
  }

  /** Whether the end of the peer was read. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  // As in node:net, what nobody reads keeps no socket open that the peer has left.
  /** Whether the program has never read. */
  get isUnread(): boolean {
    const hasReader = this.#onread !== undefined || this.#socket.listenerCount('readable') > 0;
    return this.#socket.readableFlowing === null && !hasReader;
  }

  /** Whether the peer has sent any bytes. */
  get hasArrived(): boolean {
    return this.#bytesRead > 0 || this.holdsBytes || (this.#stream.state()?.unread ?? 0) > 0;
  }

  /** Whether bytes were taken that the program has not got. */
  get holdsBytes(): boolean {
    return Boolean(this.#held);
  }

  /** The stream of the socket is open. */
  opened(): void {
    if (this.#wantsBytes) this.#take(false);
    else if (!this.#socket.isPaused()) this.#socket.read(0); // the peer may end without bytes
  }

  /** The buffer of the socket has room. */
  want(isOpening: boolean): void {
    this.#wantsBytes = true;
    if (isOpening) return;
    // read() calls this before it takes what is buffered. Some libraries call it once for each 'readable', and since
    // Node.js 26 it returns one piece, not all.
    if (this.#socket.readableLength > 0) process.nextTick(this.#takeWanted);
    else this.#take(false);
  }

  /** Something has arrived, which the present turn is for. */
  arrived(): void {
    if (this.#wantsBytes) this.#take(true);
  }

  readonly #takeWanted = (): void => {
    if (this.#wantsBytes) this.#take(false);
  };

  /** The stream is lost: the socket gets the error after what has arrived, unless the peer's end comes before. */
  lose(loss: Error): void {
    this.#loss = loss;
    this.arrived();
  }

  /** @param hasTurn whether the present turn is for what has arrived. */
  #take(hasTurn: boolean): void {
    if (!this.#stream.isOpen) return;
    if (this.#onread) this.#takeIntoMemory(this.#onread);
    else this.#takeBytes(hasTurn);
  }

  #takeBytes(hasTurn: boolean): void {
    const bytes = this.#held === undefined ? this.#stream.take() : this.#held;
    if (bytes === undefined && this.#loss === undefined) return;
    if (!hasTurn && !takeTurn()) {
      this.#held = bytes;
      this.#waitForTurn();
      return;
    }
    this.#held = undefined;
    if (bytes === undefined) this.#delivered(this.#loss as Error);
    else this.#push(bytes);
  }

  #waitForTurn(): void {
    if (this.#waitsForTurn) return;
    this.#waitsForTurn = true;
    inLaterTurn(() => {
      this.#waitsForTurn = false;
      this.#stream.run(() => this.arrived());
    });
  }

  #push(bytes: Buffer | null): void {
    const socket = this.#socket;
    this.#wantsBytes = false;
    this.#events.active();
    if (bytes === null) {
      this.#pushEnd();
      return;
    }
    this.#bytesRead += bytes.length;
    try {
      socket.push(bytes);
    } catch (error) {
      process.nextTick(() => socket.read(0)); // a listener has thrown; the next bytes are read all the same
      throw error;
    }
    // Readable does not read on after a part of a character.
    if (socket.readableEncoding !== null) process.nextTick(() => socket.read(0));
    if (socket.writableFinished) this.readAhead();
  }

  /** After the end of this side, the end of the peer is the last event of the connection. */
  readAhead(): void {
    const { readableFlowing, readableLength } = this.#socket;
    if (this.#onread || this.#hasEnded || this.#wantsBytes || readableFlowing) return;
    if (readableLength === 0 || readableLength >= AHEAD) return;
    this.#wantsBytes = true;
    this.#take(false);
  }

  #takeIntoMemory(reader: MemoryReader): void {
    let hasEnded: boolean;
    try {
      hasEnded = reader.read(this.#takeInto);
    } catch (error) {
      process.nextTick(this.#takeWanted);
      throw error;
    }
    if (hasEnded) {
      this.#wantsBytes = false;
      this.#pushEnd();
    } else if (!reader.isStopped && this.#loss) {
      this.#socket.destroy(this.#loss);
    }
  }

  readonly #takeInto = (memory: Uint8Array): number => {
    const length = this.#stream.takeInto(memory, 0);
    if (length > 0) this.#bytesRead += length;
    if (length !== 0) this.#events.active();
    return length;
  };

  // The program gets the loss after the bytes.
  #delivered(loss: Error): void {
    if (this.#socket.readableLength === 0) {
      this.#socket.destroy(loss);
      return;
    }
    this.#wantsBytes = false;
    this.#socket.push(Buffer.alloc(0)); // the next read() calls want() again
  }

  #pushEnd(): void {
    this.#hasEnded = true;
    this.#events.ended();
    this.#socket.push(null);
    this.#socket.read(0); // emits 'end', although nobody reads
  }

  /** Stops to read into memory of the program. */
  pause(): void {
    if (this.#onread) this.#onread.isStopped = true;
  }

  resume(): void {
    if (!this.#onread?.isStopped) return;
    this.#onread.isStopped = false;
    process.nextTick(() => this.#take(false));
  }
}
