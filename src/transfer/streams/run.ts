import type { Readable, Writable } from 'node:stream';
import { destroyWith } from './destroy-with.js';

/** What a stream has moved. */
export interface StreamReport {
  /** Bytes. */
  readonly byteLength: number;
  /** Milliseconds from the first byte to the end. */
  readonly duration: number;
}

/** What moves the bytes of a stream object. */
export interface StreamFlow {
  /** Aborts when the flow has failed, with its error. */
  readonly signal: AbortSignal;
  /** Ends the flow with an error. */
  fail(error: unknown): void;
}

/** The flow of a stream object, which runs once. The object is destroyed when the flow fails, and the other way round. */
export class Run {
  readonly #stream: Readable | Writable;
  readonly #flow: StreamFlow;
  #running: Promise<StreamReport> | undefined;

  constructor(stream: Readable | Writable, flow: StreamFlow) {
    this.#stream = stream;
    this.#flow = flow;
    destroyWith(stream, flow.signal);
  }

  /** Its end. Undefined before start(). */
  get running(): Promise<StreamReport> | undefined {
    return this.#running;
  }

  /** @param moving resolves to the number of bytes. */
  start(moving: Promise<number>): Promise<StreamReport> {
    const began = performance.now();
    const running = moving.then(
      (byteLength) => ({ byteLength, duration: performance.now() - began }),
      (error) => {
        this.#stream.destroy(error);
        throw error;
      },
    );
    running.catch(() => {}); // the stream has the error
    this.#running = running;
    return running;
  }

  /** For _destroy(): calls back when the flow has ended. */
  end(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#flow.fail(error ?? new DOMException('The stream was destroyed', 'AbortError'));
    const done = () => callback(error);
    if (this.#running === undefined) done();
    else this.#running.then(done, done);
  }
}
