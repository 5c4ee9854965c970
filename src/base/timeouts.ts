import { withoutContext } from './async-context.js';
import { graceAfter } from './time-limit.js';

/**
 * Calls that expire at different times, with one timer. It stays when its call has ended, so that calls that end in
 * time make no timers.
 */
export class Timeouts<Call> {
  readonly #expired: (call: Call) => void;
  readonly #due = new Map<Call, number>(); // performance.now()
  #keepsLoop: boolean;
  #timer: NodeJS.Timeout | undefined;
  #firesAt = Number.POSITIVE_INFINITY;

  /** @param keepsLoop whether calls that may expire keep the event loop alive. */
  constructor(expired: (call: Call) => void, keepsLoop: boolean) {
    this.#expired = expired;
    this.#keepsLoop = keepsLoop;
  }

  keepLoop(on: boolean): void {
    this.#keepsLoop = on;
    this.#update();
  }

  add(call: Call, milliseconds: number): void {
    const at = performance.now() + milliseconds;
    this.#due.set(call, at);
    if (at < this.#firesAt) this.#set(at, milliseconds);
    else if (this.#keepsLoop && this.#due.size === 1) this.#update();
  }

  delete(call: Call): void {
    if (!this.#due.delete(call)) return;
    if (this.#keepsLoop && this.#due.size === 0) this.#update();
  }

  /** Forgets all calls. */
  close(): void {
    this.#due.clear();
    clearTimeout(this.#timer);
    this.#firesAt = Number.POSITIVE_INFINITY;
  }

  #set(at: number, milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = withoutContext(() => setTimeout(this.#fire, milliseconds));
    this.#firesAt = at;
    this.#update();
  }

  // A timer that waits for no call must not keep the event loop alive.
  #update(): void {
    if (this.#keepsLoop && this.#due.size > 0) this.#timer?.ref();
    else this.#timer?.unref();
  }

  readonly #fire = (): void => {
    this.#timer = setTimeout(this.#expire, graceAfter(this.#firesAt));
    this.#update();
  };

  readonly #expire = (): void => {
    this.#firesAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const [call, at] of this.#due) {
      if (at > now) next = Math.min(next, at);
      else {
        this.#due.delete(call);
        this.#expired(call);
      }
    }
    if (next < this.#firesAt) this.#set(next, next - now);
  };
}
