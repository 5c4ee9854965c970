// Makes a failing program smaller: without rounds, faults and operations that it does not need to fail.

/** Programs that are smaller than a program by one part, the largest parts first. */
function* smaller(program) {
  const { rounds } = program;
  const withRounds = (changed) => ({ ...program, rounds: changed });
  const without = (list, from, count) => [...list.slice(0, from), ...list.slice(from + count)];
  for (let i = rounds.length - 1; i >= 0 && rounds.length > 1; i--) {
    yield withRounds(without(rounds, i, 1));
  }
  if (program.opening.length > 0) yield { ...program, opening: [] };
  for (const name of ['faults', 'operations']) {
    for (const [i, round] of rounds.entries()) {
      const { length } = round[name];
      for (
        let count = Math.ceil(length / 2);
        count >= 1;
        count = count === 1 ? 0 : Math.ceil(count / 2)
      ) {
        for (let from = 0; from < length; from += count) {
          const changed = { ...round, [name]: without(round[name], from, count) };
          yield withRounds(rounds.map((each, k) => (k === i ? changed : each)));
        }
      }
    }
  }
}

/**
 * The kind of a failure: its first problem, without numbers and stack. A smaller program that fails in another way is not
 * the program that failed.
 *
 * @param {readonly string[]} problems
 * @returns {string | undefined}
 */
export const kindOf = ([problem]) => problem?.split('\n')[0].replaceAll(/\d+/g, 'N');

/**
 * @param {(program: import('./plan.mjs').Program) => Promise<boolean>} fails runs a program and resolves to whether it fails
 * @param {number} end the time at which to stop, performance.now()
 * @returns {Promise<import('./plan.mjs').Program>} the smallest program that was found to fail
 */
export async function shrink(program, fails, end) {
  let smallest = program;
  for (let found = true; found; ) {
    found = false;
    for (const candidate of smaller(smallest)) {
      if (performance.now() > end) return smallest;
      if (!(await fails(candidate))) continue;
      smallest = candidate;
      found = true;
      break;
    }
  }
  return smallest;
}
