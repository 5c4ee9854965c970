// The options of suites and of the programs of test/ that they start. An error is one line, with the valid values.
import { parseArgs } from 'node:util';
import { SetupError } from './setup/step.mjs';

/** The exit status of a program whose options are wrong. The program has printed the reason. */
export const WRONG_USAGE = 2;

/** Reads a whole number from `from` on. */
export const count =
  (from = 0) =>
  (text) => {
    if (/^\d{1,15}$/.test(text) && Number(text) >= from) return Number(text);
    throw new SetupError(`a whole number from ${from} on`);
  };

/** Reads a number from 0 on, with or without a fraction. */
export const amount = (text) => {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new SetupError('a number from 0 on');
};

/** Reads one of some names. */
export const oneOf = (names) => (text) => {
  if (names.includes(text)) return text;
  throw new SetupError(`one of ${names.join(', ')}`);
};

const usageOf = (options) =>
  Object.entries(options).map(([name, { value }]) => `--${name}${value ? ` ${value}` : ''}`);

/**
 * Reads options. Each is described by the `value` that its usage shows (a flag has none), and may have `read`, which
 * converts the text or throws a SetupError that names the valid values, `multiple`, and `default`. Throws a SetupError.
 */
export function readOptions(options, args, allowPositionals = false) {
  const described = Object.entries(options).map(([name, { value, multiple = false }]) => {
    return [name, { type: value ? 'string' : 'boolean', multiple }];
  });
  let parsed;
  try {
    parsed = parseArgs({ args, options: Object.fromEntries(described), allowPositionals });
  } catch ({ message }) {
    const [problem] = message.split(/\. |\n/);
    throw new SetupError(
      `${problem.replace(/\.$/, '')}; the options are ${usageOf(options).join(', ')}`,
    );
  }
  const values = {};
  for (const [name, { read = String, multiple, value, default: fallback }] of Object.entries(
    options,
  )) {
    const given = parsed.values[name];
    if (given === undefined) values[name] = value ? fallback : false;
    else if (!value) values[name] = given;
    else values[name] = multiple ? given.map(reading(name, read)) : reading(name, read)(given);
  }
  return { values, positionals: parsed.positionals };
}

const reading = (name, read) => (text) => {
  try {
    return read(text);
  } catch (error) {
    throw new SetupError(`--${name} is '${text}', not ${error.message}`);
  }
};

/** The values of the options of this program. If they are wrong, prints the reason and exits. */
export function programOptions(options, args = process.argv.slice(2)) {
  try {
    return readOptions(options, args).values;
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(error.message);
    process.exit(WRONG_USAGE);
  }
}
