// The arguments of `npm run test:efa`.
import { SetupError } from '../setup/step.mjs';

/** What may be different about the device, or about the way that the provider uses it. */
export const CONDITIONS = {
  synchronous: { LIBFABRIC_TEST_EFA: 'synchronous' },
  reordering: { LIBFABRIC_TEST_EFA: 'reordering' },
  shm: { FI_EFA_ENABLE_SHM_TRANSFER: '1' },
  '0xefa0': { SOFTEFA_PART_ID: '0xefa0' },
  '0xefa1': { SOFTEFA_PART_ID: '0xefa1' },
  direct: { SOFTEFA_DIRECT: '1' },
  newest: { SOFTEFA_PART_ID: '0xefa3' },
};

const USAGE = `npm run test:efa -- [--stack bookworm|trixie|forky|DIR] [${Object.keys(CONDITIONS).join('|')}] [vitest's arguments]`;

/** `{ stack, condition, rest }`; stack and condition are undefined where they are not given. */
export function parseArguments(args) {
  const rest = [...args];
  const at = rest.indexOf('--stack');
  const [, stack] = at < 0 ? [] : rest.splice(at, 2);
  if (at >= 0 && (stack === undefined || stack.startsWith('-'))) throw new SetupError(USAGE);
  const condition = Object.hasOwn(CONDITIONS, rest[0] ?? '') ? rest.shift() : undefined;
  // Whatever is not a condition is vitest's, which takes words for parts of files' names.
  if (rest[0] && /^\w+$/.test(rest[0])) throw new SetupError(`${rest[0]}: no condition\n${USAGE}`);
  return { stack, condition, rest };
}
