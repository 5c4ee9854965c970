// The command line of the simulation: which programs it runs, and how one of them is repeated.
import { readFileSync } from 'node:fs';
import { amount, count, oneOf, programOptions } from '../../../scripts/options.mjs';
import { PROVIDERS, programOf } from './plan.mjs';
import { PROFILES } from './profiles.mjs';

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
  const read = programOptions(
    {
      seed: { value: 'TEXT' },
      minutes: { value: 'N', read: amount, default: 2 },
      programs: { value: 'N', read: count(1), default: Number.POSITIVE_INFINITY },
      provider: { value: 'NAME', read: oneOf(PROVIDERS), multiple: true, default: PROVIDERS },
      profile: { value: 'NAME', read: oneOf(Object.keys(PROFILES)), default: 'mixed' },
      only: { value: 'N[,N...]', read: (text) => text.split(',').map(count()) },
      program: { value: 'FILE' },
      'shrink-seconds': { value: 'N', read: amount, default: 60 },
      verbose: {},
    },
    args,
  );
  const { seed, minutes, programs, provider, profile, only, verbose } = read;
  return {
    ...{ seed: seed ?? String(Date.now() % 1_000_000), minutes, programs, profile, only, verbose },
    ...{ providers: provider, file: read.program, shrinkSeconds: read['shrink-seconds'] },
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
