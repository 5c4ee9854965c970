// The arguments of `npm run suite -- efa`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, SetupError } from '../setup/step.mjs';

// The device ids that softefa knows, oldest first, from its table of generations.
const PARTS = readFileSync(join(root, 'native/softefa/generation.cc'), 'utf8').match(
  /(?<=^ *\{)0xefa[0-9a-f](?=,)/gm,
);
const part = (id) => ({ SOFTEFA_PART_ID: id });

/** Conditions of the device, or of the way in which the provider uses it. */
export const CONDITIONS = {
  synchronous: { LIBFABRIC_TEST_EFA: 'synchronous' },
  reordering: { LIBFABRIC_TEST_EFA: 'reordering' },
  shm: { FI_EFA_ENABLE_SHM_TRANSFER: '1' },
  direct: { SOFTEFA_DIRECT: '1' },
  ...Object.fromEntries(PARTS.map((id) => [id, part(id)])),
  newest: part(PARTS.at(-1)),
};

const USAGE = `npm run suite -- efa [--stack bookworm|trixie|forky|DIR] [--fabtests DIR] [--all] [${Object.keys(CONDITIONS).join('|')}] [vitest's arguments]`;

// Removes an option and its value from the arguments. Returns the value.
function take(args, option) {
  const at = args.indexOf(option);
  const [, value] = at < 0 ? [] : args.splice(at, 2);
  if (at >= 0 && (value === undefined || value.startsWith('-'))) throw new SetupError(USAGE);
  return value;
}

/** Returns `{ stack, fabtests, all, condition, rest }`. stack, fabtests and condition may be undefined. */
export function parseArguments(args) {
  const rest = [...args];
  const stack = take(rest, '--stack');
  const fabtests = take(rest, '--fabtests');
  const all = rest.includes('--all') && rest.splice(rest.indexOf('--all'), 1).length === 1;
  const condition = Object.hasOwn(CONDITIONS, rest[0] ?? '') ? rest.shift() : undefined;
  // All other arguments go to vitest, which treats words as parts of file names.
  if (rest[0] && /^\w+$/.test(rest[0]))
    throw new SetupError(`${rest[0]} is not a condition\n${USAGE}`);
  return { stack, fabtests, all, condition, rest };
}
