// Plans which calls of verbs fail in this process's namespace, as the Injector does for calls of libfabric.
import { SoftefaFaults } from 'libfabric/softefa';
import { ERRORS } from './errors.mjs';

export class VerbsInjector {
  #faults = new SoftefaFaults({ namespace: process.env.SOFTEFA_NAMESPACE });
  #rules = new Map();

  /** No call fails from now on. All counts begin at 0. */
  reset() {
    this.#faults.clear();
    // A fault with errno 0 only counts calls, which succeed.
    for (const kind of Object.keys(ERRORS.verbs)) {
      this.#rules.set(kind, { rule: this.#faults.add(kind, { value: 0 }) });
    }
  }

  /** The first-th call from now on, and `times - 1` further ones, fail with the error. */
  fail(kind, first, error, times = 1) {
    this.#rules.get(kind).rule.remove();
    const rule = this.#faults.add(kind, { after: first - 1, count: times, value: error });
    this.#rules.set(kind, { rule, fails: true });
  }

  /** The number of calls of a kind, counted unless a call is to fail, and the number of those that failed. */
  counts(kind) {
    const { rule, fails } = this.#rules.get(kind);
    return fails ? { calls: 0, failed: rule.hits } : { calls: rule.hits, failed: 0 };
  }
}
