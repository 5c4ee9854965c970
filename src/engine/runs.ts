import type { Peer } from '../base/peer.js';
import { RUNNING, Word } from '../contract/layout.js';
import { type Handle, native } from '../contract/native.js';
import type { Completions } from './completions.js';
import { type Failure, takeFailure } from './failure.js';
import { Kind, type RequestOwner } from './requests.js';
import type { Rounds } from './round-times.js';

/** Starts requests and reads their completions: the engine. */
interface Starter {
  readonly handle: Handle<'Domain'>;
  readonly peers: ReadonlyMap<number, Peer>;
  readonly completions: Completions;
  begin(kind: Kind, owner: unknown): number;
}

/** The operations of a batch. */
interface Submitted {
  readonly handle: number;
  readonly version: number;
  /** The number of entries. */
  readonly used: number;
}

/** Manual driver: runs a batch in one native call, and reads what became of it. */
export class Runs {
  readonly #starter: Starter;
  readonly #number: number;
  readonly #native = native.engine;
  readonly #control: Uint32Array;
  readonly #controlF64: Float64Array;

  constructor(starter: Starter, number: number, control: Uint32Array, controlF64: Float64Array) {
    this.#starter = starter;
    this.#number = number;
    this.#control = control;
    this.#controlF64 = controlF64;
  }

  /**
   * Submits a batch and turns the engine until its rounds have ended. Returns its status, or
   * RUNNING if a round took longer than `milliseconds`. The round then continues as a request of
   * its owner.
   */
  run(
    owner: RequestOwner,
    endpoint: number,
    batch: Submitted,
    milliseconds: number,
    rounds: Rounds,
  ): number {
    const control = this.#control;
    const controlF64 = this.#controlF64;
    control[Word.RunEndpoint] = endpoint;
    control[Word.RunBatch] = batch.handle;
    control[Word.RunEntries] = batch.used;
    controlF64[Word.RunVersion64] = batch.version;
    controlF64[Word.RunTimes64] = rounds.times;
    controlF64[Word.RunSpan64] = rounds.span;
    control[Word.RunEvery] = rounds.every;
    controlF64[Word.RunSamples64] = rounds.samples === undefined ? 0 : rounds.samples.length;
    controlF64[Word.WaitMicroseconds64] = milliseconds * 1000;
    this.#native.run(this.#number);
    const status = control[Word.RunStatus] as number;
    const { completions } = this.#starter;
    if (status === RUNNING) {
      controlF64[Word.WaitCount64] = this.#starter.begin(Kind.Owner, owner);
      this.#native.adopt(this.#number);
    }
    if (control[Word.CompletionTail] !== completions.head) completions.read();
    return status;
  }

  /** The number of rounds that the last run() completed. */
  get rounds(): number {
    return this.#controlF64[Word.RunRounds64] as number;
  }

  /** The failure of the last run(). */
  failure(errno: number): Failure {
    const key = this.#control[Word.RunError] as number;
    return takeFailure(this.#starter.handle, this.#starter.peers, errno, key);
  }
}
