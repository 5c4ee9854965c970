// The expected content of each process's memory, and the messages that it may have received.
import { isHarmful } from './plan.mjs';

export class Model {
  /** By process: slot -> { id, bytes } of the write that filled it. */
  #slots;
  /** By process: the increments of its counter that succeeded, and those that were tried. */
  #counters;

  constructor(processes) {
    this.#slots = Array.from({ length: processes }, () => new Map());
    this.#counters = Array.from({ length: processes }, () => ({ done: 0, tried: 0 }));
  }

  /** A process has opened its memory again. */
  restarted(process) {
    this.#slots[process] = new Map();
    this.#counters[process] = { done: 0, tried: 0 };
  }

  expected(process, slot) {
    return this.#slots[process].get(slot);
  }

  slotsOf(process) {
    return [...this.#slots[process]].map(([slot, write]) => ({ slot, ...write }));
  }

  /**
   * Takes the outcomes of a round. Returns their problems.
   *
   * @param outcomes by process; undefined of a killed one
   */
  record(round, outcomes) {
    const problems = [];
    const byId = new Map(round.operations.map((operation) => [operation.id, operation]));
    const arrived = new Set();
    for (const [process, list] of outcomes.entries()) {
      for (const outcome of list ?? []) {
        const { id, side, code, problem, message } = outcome;
        const operation = byId.get(id);
        const what = `${operation.kind} ${id} of ${operation.bytes} bytes, ${side}`;
        if (problem) problems.push(`${what}: ${problem}`);
        if (code && !isHarmful(round))
          problems.push(`${what}: ${code} without a harmful fault: ${message}`);
        if (outcome.arrived !== undefined) {
          problems.push(...this.#recordMessage(outcome, process, byId, arrived));
        }
      }
    }
    this.#recordMemory(round, outcomes);
    return problems;
  }

  #recordMessage({ arrived: id, length }, process, byId, arrived) {
    const sent = byId.get(id);
    if (sent?.kind !== 'message' || sent.to !== process)
      return [`message ${id} was not sent to ${process}`];
    if (sent.bytes !== length)
      return [`message ${id} arrives with ${length} of ${sent.bytes} bytes`];
    if (arrived.has(id)) return [`message ${id} arrives twice`];
    arrived.add(id);
    return [];
  }

  #recordMemory(round, outcomes) {
    const succeeded = new Set(
      outcomes
        .flat()
        .filter((o) => o && o.side === 'initiator' && !o.code && !o.problem)
        .map(({ id }) => id),
    );
    for (const { id, kind, to, slot, bytes } of round.operations) {
      const done = succeeded.has(id);
      if (kind === 'write' || kind === 'batch') {
        if (done) this.#slots[to].set(slot, { id, bytes });
        else this.#slots[to].delete(slot); // any part of it may have been written
      }
      if (kind !== 'atomic') continue;
      this.#counters[to].tried++;
      if (done) this.#counters[to].done++;
    }
  }

  /** The problem of the counter of a process. */
  checkCounter(process, value) {
    const { done, tried } = this.#counters[process];
    if (value >= done && value <= tried) return [];
    return [`the counter of process ${process} is ${value} after ${done} to ${tried} increments`];
  }
}
