import { countAsHandled, isCancellation } from '../base/cancellation.js';
import { Deferred } from '../base/deferred.js';
import type { TransferReport } from './report.js';

/**
 * The end of a transfer as two promises: first its bytes have arrived, then no copy is in flight any more.
 * A failure that the caller handles at one promise counts as handled at the other too.
 */
export class Outcome {
  readonly #end = new Deferred<TransferReport>();
  // These two are made when the caller asks for them.
  #arrival: Deferred<void> | undefined;
  #over: Deferred<void> | undefined;
  #hasArrived = false;
  #failure: { readonly error: unknown } | undefined;
  #isHandledAtEnd = false;
  #isOver = false;

  /** The promise of the end. The caller must handle a failure at this promise. */
  get end(): Promise<TransferReport> {
    this.#isHandledAtEnd = true;
    if (this.#arrival !== undefined) countAsHandled(this.#arrival.promise);
    return this.#end.promise;
  }

  /** The promise of the arrival. A caller that asks for it must handle a failure at this promise. */
  get arrived(): Promise<void> {
    this.#arrival ??= this.#makeArrival();
    return this.#arrival.promise;
  }

  #makeArrival(): Deferred<void> {
    const arrival = new Deferred<void>();
    countAsHandled(this.#end.promise);
    if (this.#isHandledAtEnd) countAsHandled(arrival.promise);
    if (this.#hasArrived) arrival.resolve();
    else if (this.#failure !== undefined) arrival.reject(this.#failure.error);
    return arrival;
  }

  /** Resolves when the transfer has succeeded or failed. Waiting for it does not count as handling a failure. */
  get over(): Promise<void> {
    if (this.#over === undefined) {
      this.#over = new Deferred<void>();
      if (this.#isOver) this.#over.resolve();
    }
    return this.#over.promise;
  }

  arrive(): void {
    if (this.#failure !== undefined) return;
    this.#hasArrived = true;
    this.#arrival?.resolve();
  }

  succeed(report: TransferReport): void {
    this.arrive();
    this.#end.resolve(report);
    this.#finish();
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.#end.reject(error);
    this.#arrival?.reject(error);
    if (isCancellation(error)) countAsHandled(this.arrived);
    this.#finish();
  }

  #finish(): void {
    this.#isOver = true;
    this.#over?.resolve();
  }
}
