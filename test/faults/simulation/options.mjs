// The command line of the simulation: which programs it runs, and how one of them is repeated.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { PROVIDERS, programOf } from './plan.mjs';

/**
 * @typedef {object} Options
 * @property {string} seed
 * @property {number} minutes
 * @property {number} programs the most programs to run
 * @property {readonly string[]} providers
 * @property {string} profile
 * @property {readonly number[] | undefined} only the numbers of the programs to run. If omitted, 0, 1, 2, ...
 * @property {string | undefined} file of a program, instead of those of a seed
 * @property {number} shrinkSeconds
 * @property {boolean} verbose
 */

/**
 * @param {readonly string[]} args
 * @returns {Options}
 */
export function optionsOf(args) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string' },
      minutes: { type: 'string', default: '2' },
      programs: { type: 'string' },
      provider: { type: 'string', multiple: true },
      profile: { type: 'string', default: 'mixed' },
      only: { type: 'string' },
      program: { type: 'string' },
      'shrink-seconds': { type: 'string', default: '60' },
      verbose: { type: 'boolean', default: false },
    },
  });
  return {
    seed: values.seed ?? String(Date.now() % 1_000_000),
    minutes: Number(values.minutes),
    programs: Number(values.programs ?? Number.POSITIVE_INFINITY),
    providers: values.provider ?? PROVIDERS,
    profile: values.profile,
    only: values.only?.split(',').map(Number),
    file: values.program,
    shrinkSeconds: Number(values['shrink-seconds']),
    verbose: values.verbose,
  };
}

/**
 * The program with a number.
 *
 * @param {Options} options
 * @param {number} number
 */
export const programAt = ({ seed, providers, profile }, number) =>
  programOf(`${seed}/${number}`, providers, profile);

/**
 * The programs to run, in order, as `[name, program]`.
 *
 * @param {Options} options
 */
export function* programsOf(options) {
  const { only, file, programs } = options;
  if (file !== undefined) {
    yield [file, JSON.parse(readFileSync(file, 'utf8'))];
    return;
  }
  if (only !== undefined) {
    for (const number of only) yield [number, programAt(options, number)];
    return;
  }
  for (let number = 0; number < programs; number++) yield [number, programAt(options, number)];
}

/**
 * The arguments that run programs again.
 *
 * @param {Options} options
 * @param {readonly number[]} numbers
 */
export function argumentsFor({ seed, providers, profile }, numbers) {
  const chosen = providers === PROVIDERS ? [] : providers.flatMap((name) => ['--provider', name]);
  return ['--seed', seed, '--only', numbers.join(','), '--profile', profile, ...chosen];
}

const quoted = (word) => (/^[\w./,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** The command with these arguments. */
export const commandOf = (args) => `npm run suite -- faults ${args.map(quoted).join(' ')}`;
