// A round starts the contenders of a figure and lets them alternate in turns of about 50 ms: A B C A B C.
import { Pair } from './pair.mjs';
import { Results } from './results.mjs';

/**
 * Measures groups, each in every round or in as many rounds as it specifies.
 * @param {object[]} groups as in figures.mjs
 * @param {object} options `divisor` of all iterations; `before`, which runs before each group of a round
 * @returns the measurements, and the failures as a map from `figure | contender` to a message
 */
export async function takeRounds(groups, rounds, { divisor = 1, before = () => {} }) {
  const results = new Results();
  const failures = new Map();
  for (let round = 0; round < rounds; round++) {
    for (const group of groups.filter((each) => round < (each.rounds ?? rounds))) {
      before(group, round);
      await runGroup(group, round, divisor, results, failures);
    }
  }
  return { results, failures };
}

async function runGroup(group, round, divisor, results, failures) {
  const running = [];
  for (const contender of group.contenders) {
    const key = `${group.name} | ${contender.name}`;
    if (failures.has(key)) continue; // a contender that failed once is not run again
    const takeTurn = async (turn) => {
      try {
        for (const measurement of await turn()) {
          results.add(group.name, contender.name, round, measurement);
        }
      } catch (error) {
        failures.set(key, error.message);
      }
    };
    const commands = commandsOf(group, contender, divisor);
    const pair = new Pair(commands, contender.timeoutMs, group.cores);
    await takeTurn(() => pair.settle());
    running.push({ pair, takeTurn });
  }
  for (let left = running; left.length > 0; left = left.filter(({ pair }) => !pair.ended)) {
    for (const { pair, takeTurn } of left) await takeTurn(() => pair.step());
  }
}

/** The commands with every size once per pass of the group, for one turn each. */
function commandsOf(group, contender, divisor) {
  const sizes = Object.entries(contender.sizes ?? group.sizes ?? {}).map(
    ([bytes, iterations]) => `${bytes}:${Math.ceil(iterations / divisor)}`,
  );
  const turns = Array.from({ length: group.passes ?? 1 }, () => sizes).flat();
  const more = turns.length > 0 ? ['--sizes', turns.join(',')] : [];
  const roles = contender.alone ? ['server'] : ['server', 'client'];
  return roles.map((role) => [...contender.sides(role), ...more]);
}
