// The processes that play the rounds of one provider, from one round to the next.
import { environmentOf } from './conditions.mjs';
import { Party } from './party.mjs';

/** The number of rounds after which a process must end. */
const LIFE = 6;
const ENDS = 1000; // ms

export class Parties {
  #env;
  #parties = new Map();
  #ended = 0;

  constructor(provider, devices) {
    this.#env = environmentOf(provider, devices);
  }

  take(role) {
    if (!this.#parties.has(role)) this.#parties.set(role, new Party(this.#env));
    return this.#parties.get(role);
  }

  /** Called after a round: ends processes that have played enough rounds. Returns what is wrong with their end. */
  async giveBack(all = false) {
    const failures = [];
    for (const [role, party] of this.#parties) {
      party.rounds += 1;
      if (!party.running || party.broken) {
        this.#parties.delete(role);
        await party.bury();
      } else if (all || party.rounds >= LIFE) {
        this.#parties.delete(role);
        failures.push(...(await this.#end(role, party)));
      }
    }
    return failures;
  }

  // Ends a process naturally or by process.exit().
  async #end(role, party) {
    const exit = this.#ended++ % 2 === 1;
    const how = exit ? 'process.exit() is called' : 'nothing is left to do';
    party.send('play', { exit });
    const began = performance.now();
    const timer = setTimeout(() => party.signal('SIGKILL'), 10 * ENDS);
    const { code, signal } = await party.exited;
    clearTimeout(timer);
    const took = performance.now() - began;
    if (code !== 0) return [`the ${role} ends with ${signal ?? code} when ${how}`];
    if (took > ENDS) return [`the ${role} takes ${took.toFixed()} ms to end when ${how}`];
    const text = party.complaints();
    return text === '' ? [] : [`the ${role} prints ${text} when ${how}`];
  }
}
