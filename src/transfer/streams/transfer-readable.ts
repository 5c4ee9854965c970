import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { Deferred } from '../../base/deferred.js';
import { invalidState } from '../../base/errors.js';
import { within } from '../../base/wait-options.js';
import { checkFileRange, type FileRange } from './file-range.js';
import { type ByteSink, FileSink } from './sinks.js';
import type { StreamReport } from './transfer-writable.js';

// Bytes of a part that a program reads. The write of a file takes one operation of the thread pool for each part.
const PART = 256 * 1024;

/** The other side of a stream object. */
export interface IncomingFlow {
  /** Moves all bytes to a sink. Resolves to their number. */
  run(sink: ByteSink): Promise<number>;
  /** Ends the flow with an error. */
  fail(error: unknown): void;
}

/** A stream of Node.js with the bytes of the memory of a peer. */
export class TransferReadable extends Readable {
  readonly #flow: IncomingFlow;
  #running: Promise<StreamReport> | undefined;
  #wanted: Deferred<void> | undefined;

  /** @internal */
  constructor(flow: IncomingFlow) {
    super({ highWaterMark: PART });
    this.#flow = flow;
  }

  #run(sink: ByteSink): Promise<StreamReport> {
    const start = performance.now();
    const running = this.#flow.run(sink).then(
      (byteLength) => {
        this.push(null);
        return { byteLength, duration: performance.now() - start };
      },
      (error) => {
        this.destroy(error);
        throw error;
      },
    );
    running.catch(() => {});
    this.#running = running;
    return running;
  }

  /** @internal */
  override _read(): void {
    this.#wanted?.resolve();
    if (this.#running === undefined)
      this.#run({ take: (bytes, signal) => this.#take(bytes, signal) });
  }

  // The program keeps the parts, so they are copies: the memory is that of the next chunk soon.
  async #take(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    for (let at = 0; at < bytes.length; at += PART) {
      this.#wanted = new Deferred();
      const part = Buffer.allocUnsafeSlow(Math.min(PART, bytes.length - at));
      part.set(bytes.subarray(at, at + part.length));
      if (this.push(part)) continue;
      await within(this.#wanted.promise, { signal, timeout: undefined }, 'stream');
    }
  }

  /** @internal */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#flow.fail(error ?? new DOMException('The stream was destroyed', 'AbortError'));
    const done = () => callback(error);
    if (this.#running === undefined) done();
    else this.#running.then(done, done);
  }

  /**
   * Writes the bytes to a file, from its start or from that of the range. They go from registered memory directly to
   * the file, without the copies of a stream. The program closes the file.
   *
   * @throws Error ERR_INVALID_STATE if the stream is being read; the error of the file; the errors of the stream.
   */
  async saveTo(file: FileHandle | FileRange): Promise<StreamReport> {
    const sink = new FileSink(checkFileRange('file', file));
    if (this.#running !== undefined || this.destroyed)
      throw invalidState('the stream is in use, or has ended');
    this.on('error', () => {}); // the promise rejects
    const report = await this.#run(sink);
    this.resume();
    return report;
  }
}
