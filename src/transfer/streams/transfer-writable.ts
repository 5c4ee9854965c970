import { Writable } from 'node:stream';
import { CallContext, inThisContext } from '../../base/async-context.js';
import { Deferred } from '../../base/deferred.js';
import { invalidState } from '../../base/errors.js';
import { Run, type StreamFlow, type StreamReport } from './run.js';
import {
  type ByteSource,
  eitherOf,
  PartwiseSource,
  type StreamSource,
  sourceOf,
  taking,
} from './sources.js';

/** The other side of a stream object. */
export interface OutgoingFlow extends StreamFlow {
  /** Moves all bytes of a source. Resolves to their number when they have arrived. */
  run(source: ByteSource): Promise<number>;
}

/** The bytes that a program writes to a stream. */
class WrittenSource extends PartwiseSource {
  #callback: () => void = () => {};
  #arrival: Deferred<void> | undefined;
  #isOver = false;

  /** @param callback is called when the bytes were copied. There is at least one. */
  write(bytes: Uint8Array, callback: () => void): void {
    this.add(bytes);
    this.#callback = callback;
    this.#arrival?.resolve();
  }

  end(): void {
    this.#isOver = true;
    this.#arrival?.resolve();
  }

  protected override taken(): void {
    this.#callback();
  }

  protected async next(signal: AbortSignal, idle: Promise<unknown> | undefined): Promise<boolean> {
    if (this.#isOver) return false;
    this.#arrival = new Deferred();
    await eitherOf(this.#arrival.promise, idle, signal);
    return this.hasBytes;
  }

  cancel(): void {}
}

/** A stream of Node.js whose bytes go to the memory of a peer. `'finish'`: all of them have arrived. */
export class TransferWritable extends Writable {
  readonly #flow: OutgoingFlow;
  readonly #written = new WrittenSource();
  readonly #run: Run;
  readonly #context = new CallContext();
  #hasSource = false; // other than write()

  /** @internal */
  constructor(flow: OutgoingFlow) {
    super();
    this.#flow = flow;
    this.#run = new Run(this, flow);
  }

  #start(source: ByteSource): Promise<StreamReport> {
    return this.#run.start(taking(source, (taken) => this.#flow.run(taken)));
  }

  /** @internal */
  override _write(bytes: Uint8Array, _encoding: string, callback: (error?: Error) => void): void {
    if (bytes.length === 0) {
      callback(); // an empty chunk is not the end
      return;
    }
    if (this.#hasSource) {
      callback(invalidState('the bytes of the stream come from sendFrom()'));
      return;
    }
    this.#written.write(bytes, inThisContext(callback));
    if (!this.#run.running) this.#context.run(() => this.#start(this.#written));
  }

  /** @internal */
  override _final(callback: (error?: Error | null) => void): void {
    this.#written.end();
    this.#context.run(() => {
      const running = this.#run.running ?? this.#start(this.#written);
      running.then(
        () => callback(),
        () => {}, // destroy() was called
      );
    });
  }

  /** @internal */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#context.run(() => this.#run.end(error, callback));
  }

  /**
   * Takes the bytes from a source instead of write(), and ends the stream. A file is read directly into registered
   * memory, without the copies of a stream.
   *
   * @returns when all bytes have arrived.
   * @throws Error ERR_INVALID_STATE after write(); the error of the source; the errors of the stream. A write() meanwhile
   * fails the stream with ERR_INVALID_STATE.
   */
  async sendFrom(source: StreamSource): Promise<StreamReport> {
    return taking(sourceOf('source', source), async (bytes) => {
      const { writableLength, writableEnded, destroyed } = this;
      if (this.#run.running || writableLength > 0 || writableEnded || destroyed)
        throw invalidState('the stream is in use, or has ended');
      return this.sendAll(bytes);
    });
  }

  /** @internal */
  async sendAll(bytes: ByteSource): Promise<StreamReport> {
    this.#hasSource = true;
    this.on('error', () => {}); // the promise rejects
    const report = await this.#start(bytes);
    this.end();
    return report;
  }
}
