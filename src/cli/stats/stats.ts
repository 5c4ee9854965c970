import { Command, InvalidArgumentError, Option } from 'commander';
import { isPort } from '../../base/checks.js';
import { findFolders } from '../../verbs/find.js';
import { addHelpEnd } from '../shared/help.js';
import { jsonText } from '../shared/json.js';
import { type Address, listen } from './listen.js';
import { type Source, sources } from './sources.js';
import { totalsText } from './tables.js';
import { watch } from './watch.js';

interface Flags {
  readonly watch?: true;
  readonly interval?: number;
  readonly count?: number;
  readonly json?: true;
  readonly device?: string;
  readonly listen?: Address;
}

const INTERVAL = 1000; // milliseconds

/** libfabric stats: the counters of RDMA devices. */
export function statsCommand(): Command {
  const command = new Command('stats')
    .summary('show the counters of RDMA devices')
    .description(
      'Shows the counters of RDMA devices in sysfs: their values, their rates per second, or as Prometheus ' +
        'metrics. They count for all processes of the machine, whatever library they use, and keep their ' +
        'values when processes end. A software device counts for its node of its namespace.',
    )
    .option('-w, --watch', 'show rates repeatedly, until Ctrl-C')
    .option('-i, --interval <s>', 'seconds between samples (default: 1)', milliseconds)
    .option('-c, --count <n>', 'stop after this many samples', count)
    .option('-d, --device <name>', 'only this device')
    .addOption(new Option('--json', 'print JSON: with --watch a line for each port and sample'))
    .addOption(
      new Option('-l, --listen <host:port>', 'serve /metrics for Prometheus, until Ctrl-C')
        .argParser(address)
        .conflicts(['watch', 'json', 'count']),
    )
    .action(async (flags: Flags) => {
      const listsAll = flags.device === undefined && !flags.watch && flags.count === undefined;
      if (flags.json && listsAll && findFolders().length === 0) {
        process.stdout.write(jsonText([]));
        return;
      }
      const all = sources(flags.device);
      if (flags.listen) await untilInterrupted((signal) => listen(flags.listen!, all, signal));
      else if (flags.watch || flags.count !== undefined) await watchAll(all, flags);
      else process.stdout.write(totals(all, flags.json ?? false));
    });
  return addHelpEnd(command, {
    notes: [
      "A retransmit is a packet that was sent again, or the cause of a retransmission with other vendors' " +
        'devices. In JSON a counter is a string of decimal digits.',
      'Counters whose names end in _bytes count bytes. port_xmit_data and port_rcv_data of InfiniBand count ' +
        'words of 4 bytes. All others count packets, operations or events.',
    ],
    examples: [
      'npx libfabric stats',
      'npx libfabric stats --watch --interval 0.5',
      'npx libfabric stats --watch --json --count 60 > stats.jsonl',
      'npx libfabric stats --listen 127.0.0.1:9400',
    ],
  });
}

function watchAll(all: readonly Source[], flags: Flags): Promise<void> {
  const settings = {
    interval: flags.interval ?? INTERVAL,
    count: flags.count ?? Number.POSITIVE_INFINITY,
    json: flags.json ?? false,
  };
  return untilInterrupted((signal) => watch(all, settings, signal));
}

function totals(all: readonly Source[], json: boolean): string {
  const read = all.map(({ device, port, meter }) => ({ device, port, counters: meter.read() }));
  if (json) return jsonText(read);
  return read
    .map(({ device, port, counters }) =>
      totalsText(device, port, { ...counters.device, ...counters.port }),
    )
    .join('\n');
}

/** Ends without an error on Ctrl-C and when the reader of the output closes it. */
async function untilInterrupted(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const control = new AbortController();
  const interrupt = () => control.abort();
  // The handlers stay, because npx forwards a Ctrl-C that the terminal has also sent.
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  process.stdout.once('error', interrupt);
  await run(control.signal);
}

function milliseconds(text: string): number {
  const value = Math.round(Number(text) * 1000);
  if (text.trim() === '' || !(value >= 1 && value <= 86_400_000)) {
    throw new InvalidArgumentError('It is not a number of seconds, from 0.001 to a day.');
  }
  return value;
}

function count(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It is not a number from 1.');
  return Number(text);
}

function address(text: string): Address {
  const [, host, port] = /^\[?([^\]]*?)\]?:(\d+)$/.exec(text) ?? [];
  if (!host || !isPort(port ?? '')) {
    throw new InvalidArgumentError('It is not HOST:PORT, such as 127.0.0.1:9400 or [::1]:9400.');
  }
  return { host, port: Number(port) };
}
