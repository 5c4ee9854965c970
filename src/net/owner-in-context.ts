import { CallContext } from '../base/async-context.js';
import type { StreamOwner } from './stream.js';

/** Calls the owner of a stream in the async context of the call that the stream belongs to. */
export class OwnerInContext implements StreamOwner {
  readonly #owner: StreamOwner;
  #context = new CallContext();

  constructor(owner: StreamOwner) {
    this.#owner = owner;
  }

  /** From now on, the stream belongs to the present call. */
  join(): void {
    this.#context = new CallContext();
  }

  run(call: () => void): void {
    this.#context.run(call);
  }

  accepted(): void {
    this.#context.run(this.#owner.accepted);
  }

  refused(errno: number): void {
    this.#context.run(this.#owner.refused, errno);
  }

  readable(): void {
    this.#context.run(this.#owner.readable);
  }

  writable(): void {
    this.#context.run(this.#owner.writable);
  }

  fellBack(error: Error): void {
    this.#context.run(this.#owner.fellBack, error);
  }

  lostNic(error: Error): void {
    this.#context.run(this.#owner.lostNic, error);
  }

  lost(error: Error, isWhole: boolean, isUnread: boolean): void {
    this.#context.run(this.#owner.lost, error, isWhole, isUnread);
  }
}
