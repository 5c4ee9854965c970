import { inThisContext } from '../base/async-context.js';
import { callApart } from '../base/emit-apart.js';
import { invalidArgValue } from '../base/errors.js';

type Done = (error?: Error | null) => void;

const NONE: readonly Uint8Array[] = [];

/** What the write() of a socket has got, and its session has not accepted. */
export class SocketWriter {
  /** Bytes that the session has accepted. */
  accepted = 0;
  /** Bytes that wait. */
  waiting = 0;
  /** Bytes of the write, those that were accepted included. */
  length = 0;
  #chunks = NONE;
  #index = 0;
  #from = 0;
  #done: Done | undefined;

  /** Takes the chunks of a write. `done` is called when the session has accepted all of them, or with an error. */
  begin(chunks: readonly Uint8Array[], done: Done): void {
    this.#chunks = chunks;
    this.#index = this.#from = 0;
    this.length = this.waiting = chunks.reduce((sum, { length }) => sum + length, 0);
    this.#done = done;
  }

  /** A write that waits calls back in the async context of this call. */
  keepContext(): void {
    if (this.#done) this.#done = inThisContext(this.#done);
  }

  /** Whether a write waits. */
  get isBusy(): boolean {
    return this.#done !== undefined;
  }

  /**
   * Gives the session what it accepts.
   *
   * @param write accepts bytes from an offset on, and returns how many.
   * @returns the error of a buffer whose bytes are gone. The caller ends the socket with it.
   */
  drain(write: (bytes: Uint8Array, from: number) => number): Error | undefined {
    if (!this.isBusy) return undefined;
    for (; this.#index < this.#chunks.length; this.#index += 1, this.#from = 0) {
      const chunk = this.#chunks[this.#index] as Uint8Array;
      if (this.#from > chunk.length) return bytesGone();
      const accepted = write(chunk, this.#from);
      this.accepted += accepted;
      this.waiting -= accepted;
      this.#from += accepted;
      if (this.#from < chunk.length) return undefined;
    }
    if (this.waiting !== 0) return bytesGone();
    this.#end();
    return undefined;
  }

  /** Ends the write that waits, if any. */
  fail(error: Error): void {
    if (this.isBusy) this.#end(error);
  }

  #end(error?: Error): void {
    const done = this.#done;
    this.#done = undefined;
    this.#chunks = NONE;
    this.length = this.waiting = 0;
    callApart(done, error);
  }
}

/** The error of bytes whose ArrayBuffer was transferred or made smaller before the session has accepted them. */
export const bytesGone = (): Error =>
  invalidArgValue('the chunk', 'was transferred or made smaller before it was accepted');
