import { InvalidArgumentError, Option } from 'commander';
import {
  attachedPort,
  count,
  type OptionGroup,
  seconds,
  sizes,
} from '../fabtests/common/options.js';
import { allSizesOf } from '../fabtests/common/sizes.js';
import { bytesArgument, bytesWanted } from '../shared/byte-count.js';

/** The options as commander reads them. */
export interface Flags {
  readonly provider?: string;
  readonly nics: 'all' | number | readonly string[];
  readonly source?: string;
  readonly exchange?: number;
  readonly size: readonly number[];
  readonly pages?: number;
  readonly read?: true;
  readonly iterations?: number;
  readonly warmUp: number;
  readonly verify?: true;
  readonly slice?: number;
  readonly window?: number;
  readonly stall?: number;
  readonly threads?: number;
  readonly map?: true;
  readonly stats?: true;
  readonly json?: true;
  readonly report?: string;
  readonly label?: string;
  readonly timeout: number;
}

const refuse = (problem: string): never => {
  throw new InvalidArgumentError(problem);
};

const [MOST_SIZES, LARGEST] = [100, 2 ** 40];

/** Reads `-S`, as the benchmarks do. */
export function transferSizes(text: string): readonly number[] {
  const all = allSizesOf(sizes(text));
  if (all.length > MOST_SIZES) return refuse(`There may be at most ${MOST_SIZES} sizes.`);
  const fit = all.every((size) => size >= 1 && size <= LARGEST);
  return fit ? all : refuse(bytesWanted(1, LARGEST));
}

/** Reads `all`, `2` or `rdmap0s6,rdmap0s7`. */
export function nics(text: string): Flags['nics'] {
  if (text === 'all') return text;
  if (/^\d+$/.test(text)) return count(1, 64)(text);
  const names = text.split(',').filter(Boolean);
  return names.length > 0 ? names : refuse('It must be all, a number, or names of NICs.');
}

/** The options, in groups. */
export const optionGroups = (): readonly OptionGroup[] => [
  [
    'Peer and provider:',
    [
      new Option('-p, --provider <name>', 'efa, tcp, shm, ... (default: efa if there is an EFA)'),
      new Option('--nics <nics>', 'all, a number, or names separated by commas: a rail on each')
        .argParser(nics)
        .default('all'),
      new Option('-s, --source <address>', 'local address: of the server, and of rails of tcp'),
      new Option('-E, --exchange [=port]', "the server's TCP port (default: 3000)").argParser(
        attachedPort,
      ),
    ],
  ],
  [
    'What to measure:',
    [
      new Option('-S, --size <sizes>', 'bytes: 64M, all, r:start,increment,end or l:1M,64M,1G')
        .argParser(transferSizes)
        .default([2 ** 28], '256M'),
      new Option(
        '--pages <size>',
        'scattered pages of this size, shuffled on both sides',
      ).argParser(bytesArgument(1, 2 ** 30)),
      new Option('--read', 'the client reads instead of writing'),
      new Option('-I, --iterations <n>', 'transfers (default: by size)').argParser(count(1)),
      new Option('-w, --warm-up <n>', 'transfers before the measured ones')
        .argParser(count(0))
        .default(1),
      new Option('-v, --verify', 'check every byte'),
    ],
  ],
  [
    'Engine:',
    [
      new Option('--slice <size>', 'bytes of a slice (default: 512K)').argParser(
        bytesArgument(4096, 2 ** 30),
      ),
      new Option('--window <size>', 'bytes in flight on a rail (default: 4M)').argParser(
        bytesArgument(4096, 2 ** 32),
      ),
      new Option(
        '--stall <ms>',
        "milliseconds without progress after which a rail's slices go to others (default: 50)",
      ).argParser(count(1, 3_600_000)),
      new Option('--threads <n>', 'threads that drive the rails (default: one for each)').argParser(
        count(1, 64),
      ),
      new Option('--map', 'copy into mapped memory if both sides are on one host, without NICs'),
    ],
  ],
  [
    'Output:',
    [
      new Option('--stats', 'below each row: a row for each rail, and the CPU of both sides'),
      new Option('--json', 'one JSON object, with everything'),
      new Option('--report <file>', 'write an HTML page: the bandwidth of each rail over time'),
      new Option('--label <text>', 'a name for the result'),
      new Option('--timeout <seconds>', 'seconds without progress until the peer counts as gone')
        .argParser(seconds)
        .default(10),
    ],
  ],
];
