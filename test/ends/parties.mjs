// The processes that run the rounds of one provider. Each process runs several rounds.
import { environmentOf } from './conditions.mjs';
import { Party } from './party.mjs';

/** The number of rounds after which a process is ended. */
const MAX_ROUNDS = 6;
const EXIT_LIMIT = 1000; // ms

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

  /** Called after a round: ends processes that have run enough rounds. Returns their failures. */
  async release(all = false) {
    const failures = [];
    for (const [role, party] of this.#parties) {
      party.rounds += 1;
      if (!party.running || party.broken) {
        this.#parties.delete(role);
        await party.cleanUp();
      } else if (all || party.rounds >= MAX_ROUNDS) {
        this.#parties.delete(role);
        failures.push(...(await this.#end(role, party)));
      }
    }
    return failures;
  }

  // Ends a process naturally or by process.exit().
  async #end(role, party) {
    const exit = this.#ended++ % 2 === 1;
    const how = exit ? 'process.exit() is called' : 'no work is left';
    party.send('run', { exit });
    const began = performance.now();
    const timer = setTimeout(() => party.signal('SIGKILL'), 10 * EXIT_LIMIT);
    const { code, signal } = await party.exited;
    clearTimeout(timer);
    const took = performance.now() - began;
    if (code !== 0) return [`the ${role} ends with ${signal ?? code} when ${how}`];
    if (took > EXIT_LIMIT) return [`the ${role} takes ${took.toFixed()} ms to end when ${how}`];
    const text = party.takeErrors();
    return text === '' ? [] : [`the ${role} prints ${text} when ${how}`];
  }
}
