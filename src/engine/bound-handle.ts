import { publishClose } from '../base/channels.js';
import { closed } from '../base/errors.js';
import type { Handle } from '../contract/native.js';
import type { Engine } from './engine.js';

const NAMES = {
  addressVector: 'the address vector',
  completionQueue: 'the completion queue',
  counter: 'the counter',
};

/**
 * The native handle of an object that endpoints are bound to: fi_ep_bind(3). The endpoints are
 * closed with the object.
 */
export class BoundHandle<Name extends string> {
  /** The endpoints that the object is bound to. */
  readonly users = new Set<{ isClosed: boolean }>();
  readonly #type: keyof typeof NAMES;
  readonly #engine: Engine;
  readonly #handle: Handle<Name>;
  #closed = false;

  constructor(type: keyof typeof NAMES, engine: Engine, handle: Handle<Name>) {
    this.#type = type;
    this.#engine = engine;
    this.#handle = handle;
  }

  /** Whether the object or its domain is closed. */
  get closed(): boolean {
    return this.#closed || !this.#engine.open;
  }

  /** Whether an endpoint is open that the object is bound to. */
  get isUsed(): boolean {
    return [...this.users].some(({ isClosed }) => !isClosed);
  }

  checkOpen(): void {
    if (this.closed) throw closed(NAMES[this.#type]);
  }

  /** The handle. Throws ERR_CLOSED if the object is closed. */
  get handle(): Handle<Name> {
    this.checkOpen();
    return this.#handle;
  }

  /** Marks the object and its endpoints as closed, and reads the remaining completions. */
  end(object: object): void {
    this.#closed = true;
    publishClose(this.#type, object);
    for (const user of this.users) user.isClosed = true;
    this.#engine.drain();
  }
}
