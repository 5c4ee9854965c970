import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { CallContext } from '../../base/async-context.js';
import { Deferred } from '../../base/deferred.js';
import { invalidState } from '../../base/errors.js';
import { within } from '../../base/wait-options.js';
import { checkFileRange, type FileRange } from './file-range.js';
import { Run, type StreamFlow, type StreamReport } from './run.js';
import { type ByteSink, FileSink } from './sinks.js';

// Bytes of a part that a program reads. The write of a file takes one operation of the thread pool for each part.
const PART = 256 * 1024;

/** The other side of a stream object. */
export interface IncomingFlow extends StreamFlow {
  /** Moves all bytes to a sink. Resolves to their number. */
  run(sink: ByteSink): Promise<number>;
}

/** A stream of Node.js with the bytes of the memory of a peer. */
export class TransferReadable extends Readable {
  readonly #flow: IncomingFlow;
  readonly #run: Run;
  readonly #context = new CallContext();
  #wanted: Deferred<void> | undefined;

  /** @internal */
  constructor(flow: IncomingFlow) {
    super({ highWaterMark: PART });
    this.#flow = flow;
    this.#run = new Run(this, flow);
  }

  #start(sink: ByteSink): Promise<StreamReport> {
    const moving = this.#flow.run(sink).then((byteLength) => {
      this.push(null);
      return byteLength;
    });
    return this.#run.start(moving);
  }

  /** @internal */
  override _read(): void {
    this.#wanted?.resolve();
    if (this.#run.running) return;
    this.#context.run(() =>
      this.#start({
        ready: (signal) => this.#ready(signal),
        take: async (bytes) => this.#take(bytes),
      }),
    );
  }

  async #ready(signal: AbortSignal): Promise<void> {
    if (this.#wanted === undefined) return;
    await within(this.#wanted.promise, { signal, timeout: undefined }, 'stream');
    this.#wanted = undefined;
  }

  // The program keeps the parts, so they are copies: the memory is that of the next chunk soon. They are made at once,
  // although the program may read them much later, because others may wait for the memory.
  #take(bytes: Uint8Array): void {
    let isWanted = true;
    for (let at = 0; at < bytes.length; at += PART) {
      this.#wanted = new Deferred();
      const part = Buffer.allocUnsafeSlow(Math.min(PART, bytes.length - at));
      part.set(bytes.subarray(at, at + part.length));
      isWanted = this.push(part);
    }
    if (isWanted) this.#wanted = undefined;
  }

  // Node.js reads a stream only some time after a listener was added.
  get #isInUse(): boolean {
    const hasReader = this.listenerCount('data') + this.listenerCount('readable') > 0;
    return this.#run.running !== undefined || this.readableFlowing === true || hasReader;
  }

  /** @internal */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#context.run(() => this.#run.end(error, callback));
  }

  /**
   * Writes the bytes to a file, from its start or from that of the range. They go from registered memory directly to
   * the file, without the copies of a stream. The program closes the file.
   *
   * @throws Error ERR_INVALID_STATE if the stream is being read, or has a listener for `data` or `readable`; the error of the
   * file; the errors of the stream.
   */
  async saveTo(file: FileHandle | FileRange): Promise<StreamReport> {
    const sink = new FileSink(checkFileRange('file', file));
    if (this.#isInUse || this.destroyed) throw invalidState('the stream is in use, or has ended');
    this.on('error', () => {}); // the promise rejects
    const report = await this.#start(sink);
    this.resume();
    return report;
  }
}
