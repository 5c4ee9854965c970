import { type Command, Option } from 'commander';
import { bytesArgument } from '../../../shared/byte-count.js';
import {
  ADDRESSES,
  count,
  FABRIC,
  type Flags,
  MEMORY,
  OOB,
  OUTPUT,
  REFUSED,
  REFUSED_MEMORY,
} from '../../common/options.js';
import type { FunctionalTest } from './functional-test.js';

const MOST_BYTES = 2 ** 31 - 1;

/** Options of several tests. */
export const SIZE = new Option('-S, --size <bytes>', 'bytes of a message').argParser((text) => ({
  kind: 'one',
  size: bytesArgument(0, MOST_BYTES)(text),
}));
export const ITERATIONS = new Option('-I, --iterations <n>', 'iterations').argParser(count(1));
export const VERIFY = new Option('-v, --verify', 'check every byte');
export const DELIVERY_COMPLETE = new Option(
  '-U, --delivery-complete',
  'complete when the data has arrived',
);

// fabtests' options that have no effect here.
const IGNORED = [
  new Option('-w, --warm-up <n>').argParser(count(0)),
  new Option('-l, --align'),
  new Option('-t, --completion-type <type>'),
  new Option('-c, --method <method>'),
  new Option('-M, --mode <mode>'),
].map((option) => option.hideHelp());

// Options of benchmarks only.
const UNUSED = new Set(['stats', 'label', 'useFiMore', 'maxMsgSize']);

/** Values for options that a test does not have. */
const ABSENT = {
  connections: 1,
  warmUp: 0,
  window: 64,
  rx: true,
  completionType: 'queue',
  method: 'spin',
  rxCqData: true,
} satisfies Partial<Flags>;

/** Adds the options of a test. */
export function addFunctionalOptions(command: Command, test: FunctionalTest): void {
  const taken = new Set<string>();
  const add = (options: readonly Option[], group?: string) => {
    for (const option of options) {
      if (UNUSED.has(option.attributeName()) || (option.short && taken.has(option.short))) continue;
      if (option.short) taken.add(option.short);
      command.addOption(group === undefined ? option : option.helpGroup(group));
    }
  };
  add(test.options ?? [], 'What to check:');
  const memory = test.hostOnly === undefined ? [MEMORY] : [];
  for (const [heading, options] of [ADDRESSES, OOB, ...memory, FABRIC, OUTPUT]) {
    add(options, heading);
  }
  add(IGNORED);
  add(REFUSED);
  if (test.hostOnly !== undefined) add(REFUSED_MEMORY);
}

/** The given options, completed with the test's defaults. */
export function flagsOf(test: FunctionalTest, given: Partial<Flags>): Flags {
  const size = { kind: 'one', size: test.size ?? 1024 } as const;
  const iterations = test.iterations === undefined ? {} : { iterations: test.iterations };
  return { ...ABSENT, size, ...iterations, ...given };
}
