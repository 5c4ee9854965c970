import { type Command, InvalidArgumentError, Option } from 'commander';
import { bytesArgument } from '../../shared/byte-count.js';
import { nicsOption, seconds } from '../common/options.js';
import { iterationsOf } from '../common/sizes.js';
import type { GivenMembership } from './launcher.js';
import type { Settings, Transfer } from './settings.js';

/** The options of a command of many ranks as commander reads them. */
export interface Flags extends GivenMembership {
  readonly local?: number;
  readonly provider?: string;
  readonly fabric?: string;
  readonly domain?: string;
  readonly source?: string;
  readonly nics?: 'all' | readonly string[];
  readonly metric?: 'bandwidth' | 'latency';
  readonly operation?: Transfer;
  readonly size?: number;
  readonly iterations?: number;
  readonly seconds?: number;
  readonly window: number;
  readonly concurrent?: true;
  readonly verify?: true;
  readonly json?: true | string;
  readonly label?: string;
  readonly timeout: number;
}

function count(from: number, to = 2 ** 31 - 1) {
  return (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= from && value <= to) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${from} to ${to}.`);
  };
}

const MOST_RANKS = 65_536;

const RANKS = [
  new Option('--local <n>', 'start n processes on this machine').argParser(count(2, 256)),
  new Option('--rank <n>', 'rank of this process, from 0').argParser(count(0, MOST_RANKS)),
  new Option('--ranks <n>', 'number of all ranks').argParser(count(1, MOST_RANKS)),
  new Option('--root <host[:port]>', 'host of rank 0 (default: from the launcher)'),
  new Option('--timeout <seconds>', 'seconds to wait for ranks, and without any progress')
    .argParser(seconds)
    .default(30),
];

const WHERE = [
  new Option(
    '-p, --provider <name>',
    'efa, shm, tcp, ... (default: efa, or tcp if there is no EFA)',
  ),
  new Option('-f, --fabric <name>', 'efa, efa-direct, or a network'),
  new Option(
    '-d, --domain <name>',
    'the NIC: rdmap0s6-rdm, eth0, ... (default: one for each rank of a host, in turn)',
  ),
  new Option('-s, --source <address>', 'local address'),
];

const WHAT = [
  new Option(
    '-S, --size <bytes>',
    'bytes of a transfer (default: 1 MiB; for latency 64)',
  ).argParser(bytesArgument(1, 2 ** 31 - 1)),
  new Option('-W, --window <n>', 'transfers in flight at once to each rank')
    .argParser(count(1))
    .default(64),
  new Option('-v, --verify', 'check the data'),
];

const OUTPUT = [
  new Option(
    '--json [file]',
    'the result as JSON, for libfabric report; without a file, replaces the table',
  ),
  new Option('--label <text>', 'a name for the result'),
];

const PAIRWISE = [
  new Option('--metric <metric>', 'what to measure')
    .choices(['bandwidth', 'latency'])
    .default('bandwidth'),
  new Option(
    '-o, --operation <op>',
    'default: write; for latency send, which is half a round trip',
  ).choices(['write', 'read', 'send']),
  new Option('-I, --iterations <n>', 'transfers of each pair (default: by size)').argParser(
    count(1),
  ),
  new Option('--concurrent', 'measure all pairs without a common rank at once'),
];

const ALL_TO_ALL = [
  new Option('-o, --operation <op>', 'operation of all ranks')
    .choices(['write', 'read'])
    .default('write'),
  new Option('--seconds <n>', 'how long (default: 1)').argParser(seconds).conflicts('iterations'),
  new Option('-I, --iterations <n>', 'transfers to each rank, in place of a time').argParser(
    count(1),
  ),
];

/** Adds the options of a command, in groups. */
export function addOptions(command: Command, name: Settings['command']): void {
  const own = name === 'pairwise' ? PAIRWISE : ALL_TO_ALL;
  const groups: [string, readonly Option[]][] = [
    ['Which ranks:', RANKS],
    ['Provider and NICs:', [...WHERE, nicsOption()]],
    ['What to measure:', [...own, ...WHAT]],
    ['Output:', OUTPUT],
  ];
  for (const [heading, options] of groups) {
    for (const option of options) command.addOption(option.helpGroup(heading));
  }
}

const LATENCY_ITERATIONS = 1000;

/** The settings for these options. Throws an Error for options that are not supported. */
export function chooseSettings(
  command: Settings['command'],
  flags: Flags,
  argv: readonly string[],
): Settings {
  const { metric = 'bandwidth', operation, label } = flags;
  const latency = metric === 'latency';
  if (latency && flags.nics !== undefined) {
    throw new Error(
      'error: --nics requires the bandwidth metric: latency is measured over one NIC',
    );
  }
  const size = flags.size ?? (latency ? 64 : 2 ** 20);
  const iterations =
    flags.iterations ??
    (command === 'all-to-all'
      ? undefined
      : latency
        ? LATENCY_ITERATIONS
        : iterationsOf(size, true));
  const { provider, fabric, domain, source, nics } = flags;
  return {
    command,
    argv,
    ...(label !== undefined && { label }),
    nics: {
      ...(provider !== undefined && { provider }),
      ...(fabric !== undefined && { fabric }),
      ...(domain !== undefined && { domain }),
      ...(source !== undefined && { source }),
      ...(nics !== undefined && { nics }),
    },
    metric,
    transfer: operation ?? (latency ? 'send' : 'write'),
    size,
    window: latency ? 1 : flags.window,
    ...(iterations !== undefined && { iterations }),
    seconds: flags.seconds ?? 1,
    verify: flags.verify === true,
    concurrent: flags.concurrent === true,
    timeout: flags.timeout,
  };
}
