// `npm run suite -- faults [calls | verbs | simulation] [options]`: fails calls of libfabric, and of verbs, one by one, and
// runs random programs with random faults: see test/faults/.
import { join } from 'node:path';
import { root, SetupError } from '../setup/step.mjs';
import { setup } from '../setup.mjs';
import { sum, tallyOf } from '../tally.mjs';

const PARTS = {
  calls: ['calls'],
  verbs: ['calls', '--layer', 'verbs'],
  simulation: ['simulation'],
};

/** The parts that the arguments name, and the options. Options such as --seed alone belong to the simulation. */
function chosen(args) {
  const [first, ...others] = args;
  if (first === undefined) return { parts: Object.keys(PARTS), options: [] };
  if (Object.hasOwn(PARTS, first)) return { parts: [first], options: others };
  if (first.startsWith('-')) return { parts: ['simulation'], options: args };
  throw new SetupError(`there is no part ${first}, only ${Object.keys(PARTS).join(', ')}`);
}

export default async function faults(args) {
  const { parts, options } = chosen(args);
  await setup();
  const tallies = [];
  for (const part of parts) {
    const [folder, ...fixed] = PARTS[part];
    const program = join(root, 'test/faults', folder, 'main.mjs');
    tallies.push(await tallyOf(process.execPath, [program, ...fixed, ...options]));
  }
  return sum(...tallies);
}
