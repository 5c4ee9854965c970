import { ADDRESSES, FABRIC, type Flags, OOB, OUTPUT } from '../../common/options.js';
import { FUNCTIONAL_TESTS } from '../all.js';

/** The names of all tests. */
export const NAMES = FUNCTIONAL_TESTS.map(({ command }) => command);

// Arguments that prove more than the defaults, or as much in less time.
const MORE: Readonly<Record<string, readonly string[]>> = {
  'rdm-atomic': ['-I', '20'],
  'rdm-multi-client': ['-C', '3'],
  inject: ['-A', 'inject', '-I', '50'],
};

// Options that are passed to the tests in another form, or that apply to the whole run.
const OWN = new Set(['oob', 'exchange', 'json']);

/** The arguments of one test's command: the common options, and -v. */
export function argumentsOf(
  name: string,
  given: Partial<Flags>,
  oobPort: number,
  host: string | undefined,
): string[] {
  const options = FUNCTIONAL_TESTS.find(({ command }) => command === name)?.options ?? [];
  const verifies = options.some((option) => option.attributeName() === 'verify');
  return [
    name,
    ...passedOn(given),
    // Addresses are always exchanged out of band, so that a client waits for its server.
    `${given.oob === undefined ? '-E' : '-b'}=${oobPort}`,
    ...(verifies ? ['-v'] : []),
    ...(MORE[name] ?? []),
    ...(host === undefined ? [] : [host]),
  ];
}

function passedOn(given: Partial<Flags>): string[] {
  const all = [ADDRESSES, OOB, FABRIC, OUTPUT].flatMap(([, options]) => options);
  return all.flatMap((option) => {
    const name = option.attributeName();
    const value = given[name as keyof Flags];
    return value === undefined || OWN.has(name) ? [] : [option.long as string, String(value)];
  });
}
