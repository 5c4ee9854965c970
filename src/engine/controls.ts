import { Op } from '../contract/layout.js';
import type { Submissions } from './submissions.js';

const NO_REQUEST = 0xffff_ffff;
const NO_ENDPOINT = 0;

/** The engine's operations without buffers: closes, removals and cancellations. */
export class Controls {
  readonly #submissions: Submissions;
  readonly #abandon: (request: number) => void;

  /** @param abandon ends a request whose operation cannot be submitted. */
  constructor(submissions: Submissions, abandon: (request: number) => void) {
    this.#submissions = submissions;
    this.#abandon = abandon;
  }

  /** @param timeout the milliseconds that operations of the endpoint have to complete. */
  closeEndpoint(request: number, endpoint: number, timeout: number): void {
    const at = this.#begin(Op.CloseEndpoint, request, endpoint);
    this.#submissions.entries.setTimeout(at, timeout);
    this.#submissions.commit();
  }

  closeMemory(request: number, memory: number): void {
    const at = this.#begin(Op.CloseMemory, request, NO_ENDPOINT);
    this.#submissions.entries.setObject(at, memory);
    this.#submissions.commit();
  }

  removePeer(request: number, peer: number): void {
    const at = this.#begin(Op.RemovePeer, request, NO_ENDPOINT);
    this.#submissions.entries.setPeer(at, peer);
    this.#submissions.commit();
  }

  /** Cancels a request. This is no request itself. */
  cancel(request: number): void {
    const at = this.#submissions.reserve(0);
    const { entries } = this.#submissions;
    entries.begin(at, Op.Cancel, NO_REQUEST, NO_ENDPOINT);
    entries.setObject(at, request);
    this.#submissions.commit();
  }

  #begin(code: Op, request: number, endpoint: number): number {
    try {
      const at = this.#submissions.reserve(0);
      this.#submissions.entries.begin(at, code, request, endpoint);
      return at;
    } catch (error) {
      this.#abandon(request);
      throw error;
    }
  }
}
