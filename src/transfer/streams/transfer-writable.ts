import { Writable } from 'node:stream';
import { Deferred } from '../../base/deferred.js';
import { invalidState } from '../../base/errors.js';
import { within } from '../../base/wait-options.js';
import type { ByteSource, StreamSource } from './sources.js';
import { sourceOf } from './sources.js';

/** What a stream has moved. */
export interface StreamReport {
  /** Bytes. */
  readonly byteLength: number;
  /** Milliseconds from the first byte to the end. */
  readonly duration: number;
}

/** The other side of a stream object. */
export interface OutgoingFlow {
  /** Moves all bytes of a source. Resolves to their number when they have arrived. */
  run(source: ByteSource): Promise<number>;
  /** Ends the flow with an error. */
  fail(error: unknown): void;
}

/** The bytes that a program writes to a stream. */
class WrittenSource implements ByteSource {
  #bytes: Uint8Array = new Uint8Array();
  #taken: () => void = () => {};
  #arrival: Deferred<void> | undefined;
  #isOver = false;

  /** @param taken is called when the bytes were copied. */
  add(bytes: Uint8Array, taken: () => void): void {
    this.#bytes = bytes;
    this.#taken = taken;
    this.#arrival?.resolve();
  }

  end(): void {
    this.#isOver = true;
    this.#arrival?.resolve();
  }

  async fill(into: Uint8Array, signal: AbortSignal, idle?: Promise<unknown>): Promise<number> {
    let at = 0;
    while (at < into.length) {
      if (this.#bytes.length > 0) at += this.#copy(into.subarray(at));
      else if (this.#isOver || !(await this.#wait(signal, at > 0 ? idle : undefined))) break;
    }
    return at;
  }

  #copy(into: Uint8Array): number {
    const bytes = this.#bytes.subarray(0, into.length);
    into.set(bytes);
    this.#bytes = this.#bytes.subarray(bytes.length);
    if (this.#bytes.length === 0) this.#taken();
    return bytes.length;
  }

  // Returns false if `idle` resolves before there are bytes.
  async #wait(signal: AbortSignal, idle: Promise<unknown> | undefined): Promise<boolean> {
    this.#arrival = new Deferred();
    const { promise } = this.#arrival;
    const first = idle === undefined ? promise : Promise.race([promise, idle]);
    await within(
      first.then(() => {}),
      { signal, timeout: undefined },
      'stream',
    );
    return this.#bytes.length > 0 || this.#isOver;
  }

  cancel(): void {}
}

/** A stream of Node.js whose bytes go to the memory of a peer. `'finish'`: all of them have arrived. */
export class TransferWritable extends Writable {
  readonly #flow: OutgoingFlow;
  readonly #written = new WrittenSource();
  #running: Promise<StreamReport> | undefined;

  /** @internal */
  constructor(flow: OutgoingFlow) {
    super();
    this.#flow = flow;
  }

  #run(source: ByteSource): Promise<StreamReport> {
    const start = performance.now();
    const running = this.#flow.run(source).then(
      (byteLength) => ({ byteLength, duration: performance.now() - start }),
      (error) => {
        source.cancel();
        this.destroy(error);
        throw error;
      },
    );
    running.catch(() => {});
    this.#running = running;
    return running;
  }

  /** @internal */
  override _write(bytes: Uint8Array, _encoding: string, callback: () => void): void {
    this.#written.add(bytes, callback);
    if (this.#running === undefined) this.#run(this.#written);
  }

  /** @internal */
  override _final(callback: (error?: Error | null) => void): void {
    this.#written.end();
    const running = this.#running ?? this.#run(this.#written);
    running.then(
      () => callback(),
      () => {}, // destroy() was called
    );
  }

  /** @internal */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#flow.fail(error ?? new DOMException('The stream was destroyed', 'AbortError'));
    const done = () => callback(error);
    if (this.#running === undefined) done();
    else this.#running.then(done, done);
  }

  /**
   * Takes the bytes from a source instead of write(), and ends the stream. A file is read directly into registered
   * memory, without the copies of a stream.
   *
   * @returns when all bytes have arrived.
   * @throws Error ERR_INVALID_STATE after write(); the error of the source; the errors of the stream.
   */
  async sendFrom(source: StreamSource): Promise<StreamReport> {
    const bytes = sourceOf('source', source);
    if (this.#running !== undefined || this.writableEnded || this.destroyed)
      throw invalidState('the stream is in use, or has ended');
    this.on('error', () => {}); // the promise rejects
    const report = await this.#run(bytes);
    this.end();
    return report;
  }
}
