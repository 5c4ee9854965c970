import type { TransferEngine } from '../../transfer/transfer-engine.js';
import { PeerGone } from '../fabtests/common/oob.js';
import type { PeerLink } from '../fabtests/common/peer-link.js';
import type { RailTimeline } from '../shared/result.js';
import { SAMPLE_INTERVAL, Timeline } from './timeline.js';

/** Samples the rails of an engine, and ends its transfers when the peer is gone. */
export class Watch {
  readonly #engine: TransferEngine;
  readonly #link: PeerLink;
  readonly #timeout: number;
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #aborted: Promise<never>;
  #timeline: Timeline | undefined;
  #isTransferring = false;
  #total = 0;
  #grewAt = 0;

  /** @param seconds without progress after which the peer counts as gone. */
  constructor(engine: TransferEngine, link: PeerLink, seconds: number) {
    this.#engine = engine;
    this.#link = link;
    this.#timeout = seconds * 1000;
    const { signal } = this.#abort;
    this.#aborted = new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    this.#aborted.catch(() => {}); // during() throws it
    this.#timer = setInterval(() => this.#tick(), SAMPLE_INTERVAL);
  }

  /** The timeline begins. */
  begin(): void {
    this.#timeline = new Timeline(performance.now(), this.#bytes());
  }

  /** The timeline from begin() to now. */
  end(): RailTimeline {
    const timeline = this.#timeline as Timeline;
    this.#timeline = undefined;
    return timeline.end(performance.now(), this.#bytes());
  }

  /** Runs a transfer. Throws PeerGone, with which the signal aborts too. */
  async during<T>(transfer: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#isTransferring = true;
    this.#grewAt = performance.now();
    try {
      return await Promise.race([transfer(this.#abort.signal), this.#aborted]);
    } finally {
      this.#isTransferring = false;
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #bytes(): number[] {
    return this.#engine.rails.map(({ bytesTransferred }) => bytesTransferred);
  }

  #tick(): void {
    const now = performance.now();
    const bytes = this.#bytes();
    this.#timeline?.sample(now, bytes);
    const total = bytes.reduce((sum, each) => sum + each, 0);
    if (total !== this.#total) this.#grewAt = now;
    this.#total = total;
    if (!this.#isTransferring) return;
    if (this.#link.ended !== undefined) {
      this.#abort.abort(new PeerGone(`the peer has ended: ${this.#link.ended}`));
    } else if (now - this.#grewAt > this.#timeout) {
      const seconds = this.#timeout / 1000;
      this.#abort.abort(new PeerGone(`no rail has transferred anything for ${seconds} s`));
    }
  }
}
