import { ADDRESSES, FABRIC, type Flags, OOB, OUTPUT } from '../../common/options.js';
import { FUNCTIONAL_TESTS } from '../all.js';

/** Of all tests. */
export const NAMES = FUNCTIONAL_TESTS.map(({ command }) => command);

// What proves more than the defaults do, or as much in less time.
const MORE: Readonly<Record<string, readonly string[]>> = {
  'rdm-atomic': ['-I', '20'],
  'rdm-multi-client': ['-C', '3'],
  inject: ['-A', 'inject', '-I', '50'],
};

// Said in another way, or of the whole.
const OWN = new Set(['oob', 'exchange', 'json']);

/** The arguments of one test's command: what is said of all, and every byte looked at. */
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
    // Addresses always go beside the fabric, so that a client waits for its server.
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
