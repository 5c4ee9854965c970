import { Command, InvalidArgumentError, Option } from 'commander';
import { MAX_PORT } from '../../../base/checks.js';
import type { Progress, Threading } from '../../../base/flags.js';
import { serviceArgument } from '../../shared/service-argument.js';
import { parseSizes, type SizeChoice } from './sizes.js';

/** The options of a test as commander reads them. */
export interface Flags {
  readonly provider?: string;
  readonly fabric?: string;
  readonly domain?: string;
  readonly type?: string;
  readonly format?: string;
  readonly source?: string;
  readonly sourcePort?: string;
  readonly port?: string;
  readonly connections: number;
  readonly oob?: number;
  readonly exchange?: number;
  readonly oobAddress?: string;
  readonly fabtests?: string;
  readonly size: SizeChoice;
  readonly iterations?: number;
  readonly warmUp: number;
  readonly window: number;
  readonly operation?: string;
  readonly verify?: true;
  readonly inject?: number;
  readonly rx: boolean;
  readonly prefix?: true;
  readonly deliveryComplete?: true;
  readonly completionType: string;
  readonly method: string;
  readonly threading?: string;
  readonly dataProgress?: string;
  readonly controlProgress?: string;
  readonly maxMsgSize?: number;
  readonly useFiMore?: true;
  readonly nics?: 'all' | readonly string[];
  readonly rxCqData: boolean;
  readonly machine?: true;
  readonly json?: true;
  readonly stats?: true;
  readonly label?: string;
  readonly timeout?: number;
  readonly pinCore?: string;
  readonly device?: string;
  readonly deviceId?: number;
  readonly hmem?: true;
  readonly dmabuf?: true;
  // Parsed only so that the refusal can state the reason.
  readonly avName?: string;
  readonly fork?: true;
  readonly eqOnDomain?: true;
}

const refuse = (problem: string): never => {
  throw new InvalidArgumentError(problem);
};

/** Reads a whole number. */
export function count(from: number, to = 2 ** 31 - 1) {
  return (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < from || value > to) {
      refuse(`It must be a whole number from ${from} to ${to}.`);
    }
    return value;
  };
}

/** Reads seconds, with fractions. */
export function seconds(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 86_400)) refuse('It must be a number of seconds, at most 86400.');
  return value;
}

const tcpPort = count(1, MAX_PORT);

export const DEFAULT_OOB_PORT = 3000;

/** Reads a port in fabtests' syntax: -b, or -b=PORT with the equals sign. */
export function attachedPort(text: string): number {
  if (text === '=') return DEFAULT_OOB_PORT;
  if (!text.startsWith('=')) refuse(`Write the port with an equals sign: =${text}.`);
  return tcpPort(text.slice(1));
}

/** Reads `-S`: parseSizes(). */
export function sizes(text: string): SizeChoice {
  try {
    return parseSizes(text);
  } catch (error) {
    return refuse(`${(error as Error).message}.`);
  }
}

// An optional value must be attached to its letter: `-E HOST` is -E and a host.
const attach = (argument: string) => (/^-[bE]$/.test(argument) ? `${argument}=` : argument);

/** A command that accepts fabtests' syntax `-b`, `-b=PORT`, `-E` and `-E=PORT`. */
export class TestCommand extends Command {
  override parseOptions(args: string[]) {
    return super.parseOptions(args.map(attach));
  }
}

export type OptionGroup = readonly [heading: string, options: readonly Option[]];

/** Options that select the fabric and the addresses. */
export const ADDRESSES: OptionGroup = [
  'Peer and provider:',
  [
    new Option('-p, --provider <name>', 'efa, shm, tcp, udp, ...'),
    new Option('-f, --fabric <name>', 'efa, efa-direct, or a network'),
    new Option('-d, --domain <name>', 'the NIC: rdmap0s6-rdm, eth0, ...'),
    new Option('-e, --type <type>', 'endpoint type: rdm or dgram (default: the one of the test)'),
    new Option('-s, --source <address>', 'local address'),
    new Option('-B, --source-port <port>', 'local port (default of the server: 9228)').argParser(
      serviceArgument,
    ),
    new Option('-P, --port <port>', 'port of the server (default: 9228)').argParser(
      serviceArgument,
    ),
    new Option('-F, --format <format>', 'address format: fi_sockaddr_in, fi_sockaddr_in6, ...'),
    new Option('-C, --connections <n>', 'clients to serve one after another')
      .argParser(count(1))
      .default(1),
  ],
];

/** Options of the out-of-band connection. */
export const OOB: OptionGroup = [
  'Out of band (TCP):',
  [
    new Option('-b, --oob [=port]', 'exchange addresses and synchronize (default port: 3000)'),
    new Option('-E, --exchange [=port]', 'exchange addresses only (default port: 3000)'),
    new Option('-O, --oob-address <host>', 'where the server listens for -b and -E'),
    new Option(
      '--fabtests <release>',
      "the peer's fabtests release, such as 1.17 (default: detected, or the release of libfabric)",
    ),
  ].map((option) =>
    /^(oob|exchange)$/.test(option.attributeName()) ? option.argParser(attachedPort) : option,
  ),
];

const WHAT: OptionGroup = [
  'What to measure:',
  [
    new Option('-S, --size <sizes>', 'bytes: 64, 4k, all, r:start,increment,end or l:64,4k,1M')
      .argParser(sizes)
      .default({ kind: 'default' } satisfies SizeChoice, '64, 256, 1k, 4k, 64k, 1m'),
    new Option('-I, --iterations <n>', 'iterations (default: by size)').argParser(count(1)),
    new Option('-w, --warm-up <n>', 'iterations before the measured ones')
      .argParser(count(0))
      .default(10),
    new Option('-W, --window <n>', 'transfers in flight at once').argParser(count(1)).default(64),
    new Option('-o, --operation <op>', 'read, write or writedata (RMA; default: write)'),
    new Option('-v, --verify', 'check every byte'),
    new Option('-j, --inject <bytes>', 'inject transfers up to this size').argParser(count(0)),
    new Option('-r, --no-rx', 'ping-pong: post each receive only when waiting for its message'),
    new Option('-k, --prefix', 'require FI_MSG_PREFIX'),
    new Option('-U, --delivery-complete', 'complete when the data has arrived'),
    new Option('-l, --align', 'page-aligned buffers (they always are)'),
    new Option('-t, --completion-type <type>', 'queue or counter').default('queue'),
    new Option('-c, --method <method>', 'how to wait: spin').default('spin'),
    new Option('-M, --mode <mode>', 'mr_local: without that mode (no effect here)'),
  ],
];

const deviceOptions = () => [
  new Option('-D, --device <interface>', 'memory of a device: cuda or neuron'),
  new Option('-i, --device-id <n>', 'the device of -D (default: 0)').argParser(count(0)),
  new Option('-H, --hmem', 'require FI_HMEM; without it, -D also uses a dmabuf'),
  new Option('-R, --dmabuf', 'register the memory of -D as a dmabuf'),
];

/** Options of the memory. */
export const MEMORY: OptionGroup = ['Memory:', deviceOptions()];

/** Options of the provider's threading and progress models. */
export const FABRIC: OptionGroup = [
  'Provider models:',
  [
    new Option('--threading <model>', 'safe, completion or domain'),
    new Option('--data-progress <model>', 'manual or auto'),
    new Option('--control-progress <model>', 'manual, auto or unified'),
    new Option('--max-msg-size <bytes>', 'FI_OPT_MAX_MSG_SIZE').argParser(count(1)),
    new Option(
      '--use-fi-more',
      'bandwidth: FI_MORE on all but the last of a window (without it: not with efa)',
    ),
    new Option('--no-rx-cq-data', 'do not offer FI_RX_CQ_DATA'),
  ],
];

/** Options of the output. */
export const OUTPUT: OptionGroup = [
  'Output:',
  [
    new Option('-m, --machine', 'YAML, as fabtests do'),
    new Option('--json', 'one JSON object, with everything').conflicts('machine'),
    new Option('--stats', 'percentiles, spread and CPU below the table').conflicts('machine'),
    new Option('--label <text>', 'a name for the result'),
    new Option(
      '--timeout <seconds>',
      'seconds without progress until the peer counts as gone (default: 10)',
    ).argParser(count(1, 86_400)),
    new Option('--pin-core <cores>', 'cores to run on: 0,2-4'),
  ],
];

const names = (text: string) => (text === 'all' ? text : text.split(',').filter(Boolean));

/** `--nics` */
export const nicsOption = () =>
  new Option('--nics <names>', 'several NICs at once: all, or names separated by commas')
    .argParser(names)
    .conflicts('domain');

/**
 * fabtests' options that are not supported. They are parsed so that the refusal can state the
 * reason.
 */
export const REFUSED: readonly Option[] = [
  new Option('-a, --av-name <name>'),
  new Option('-K, --fork'),
  new Option('-Q, --eq-on-domain'),
].map((option) => option.hideHelp());

/** Options of the memory for tests that refuse them. */
export const REFUSED_MEMORY: readonly Option[] = deviceOptions().map((option) => option.hideHelp());

/** Adds fabtests' options to a command, in groups. */
export function addTestOptions(command: Command): Command {
  for (const [heading, options] of [ADDRESSES, OOB, WHAT, MEMORY, FABRIC, OUTPUT]) {
    for (const option of options) command.addOption(option.helpGroup(heading));
  }
  for (const option of REFUSED) command.addOption(option);
  return command;
}

const oneOf = <T>(option: string, table: Record<string, T>, text: string | undefined) => {
  if (text === undefined) return undefined;
  const value = table[text.toLowerCase()];
  if (value !== undefined) return value;
  throw new Error(`error: ${option} must be one of ${Object.keys(table).join(', ')}, not ${text}`);
};

const PROGRESS: Record<string, Progress> = {
  manual: 'FI_PROGRESS_MANUAL',
  auto: 'FI_PROGRESS_AUTO',
  unified: 'FI_PROGRESS_CONTROL_UNIFIED',
};

const THREADING: Record<string, Threading> = {
  safe: 'FI_THREAD_SAFE',
  completion: 'FI_THREAD_COMPLETION',
  domain: 'FI_THREAD_DOMAIN',
};

/** The models that --threading, --data-progress and --control-progress name. */
export function modelsOf(flags: Flags) {
  const threading = oneOf('--threading', THREADING, flags.threading);
  const dataProgress = oneOf('--data-progress', PROGRESS, flags.dataProgress);
  const controlProgress = oneOf('--control-progress', PROGRESS, flags.controlProgress);
  return {
    ...(threading !== undefined && { threading }),
    ...(dataProgress !== undefined && { dataProgress }),
    ...(controlProgress !== undefined && { controlProgress }),
  };
}
