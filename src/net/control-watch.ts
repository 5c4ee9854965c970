// Limits of packets over the control connection, in ms: without packets of this side until it acknowledges, and of the
// peer until the session is lost. The event loop of the peer may be busy.
const HEARTBEAT = 1000;
const LOSS = 30_000;

/** What a watch does with its session. */
export interface Watched {
  /** Sends a packet. */
  acknowledge(): void;
  /** The peer has sent nothing for too long. */
  silent(): void;
}

/** Watches a control connection that carries packets: it learns nothing of a power failure by itself. */
export class ControlWatch {
  readonly #watched: Watched;
  #receivedAt = 0;
  #sentAt = 0;
  #lookedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  start(): void {
    this.#receivedAt = this.#sentAt = this.#lookedAt = performance.now();
    this.#timer = setInterval(this.#look, HEARTBEAT / 2).unref();
  }

  received(): void {
    this.#receivedAt = performance.now();
  }

  sent(): void {
    this.#sentAt = performance.now();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  readonly #look = (): void => {
    const now = performance.now();
    // If this event loop was busy, packets may wait behind this timer.
    if (now - this.#lookedAt > 2 * HEARTBEAT) this.#receivedAt = now;
    this.#lookedAt = now;
    if (now - this.#receivedAt > LOSS) this.#watched.silent();
    else if (now - this.#sentAt >= HEARTBEAT) this.#watched.acknowledge();
  };
}
