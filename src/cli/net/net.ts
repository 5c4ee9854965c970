import { InvalidArgumentError, Option } from 'commander';
import { attachedPort, count } from '../fabtests/common/options.js';
import { UsageCommand } from '../fabtests/common/usage-command.js';
import { bytesArgument } from '../shared/byte-count.js';
import { addHelpEnd, examplesOfSides } from '../shared/help.js';

/** The options as commander reads them. */
export interface Flags {
  readonly provider?: string;
  readonly driver: 'thread' | 'loop';
  readonly nics?: number;
  readonly source?: string;
  readonly exchange: number;
  readonly time: number;
  readonly size: number;
  readonly http?: true;
  readonly echo?: true;
  readonly compare?: true;
  readonly json?: true;
}

const PORT = 3000;

function milliseconds(text: string): number {
  const value = Number(text);
  if (value > 0 && value <= 3600) return value * 1000;
  throw new InvalidArgumentError('It must be a number of seconds, at most 3600.');
}

/** libfabric net: sockets over the fabric between two sides. */
export function netCommand(): UsageCommand {
  const command = new UsageCommand('net')
    .summary('latency and throughput of the sockets of libfabric/net')
    .description(
      'Measures the sockets of libfabric/net between two sides: half round trips, streams, messages, and with --http ' +
        'requests. With --echo, the client sends what it reads from its input, and prints what comes back.',
    )
    .argument('[server]', 'the server to connect to; without it this side is the server');
  const options = [
    new Option('-p, --provider <name>', 'efa, tcp, shm, ...; without it packets travel over TCP'),
    new Option('--driver <driver>', 'what runs the endpoint of this side')
      .choices(['thread', 'loop'])
      .default('thread'),
    new Option('--nics <n>', 'NICs of a session (default: 2 of efa, otherwise 1)').argParser(
      count(1, 8),
    ),
    new Option('-s, --source <address>', 'local address: of the server, and of the endpoint'),
    new Option('-E, --exchange [=port]', "the server's TCP port")
      .argParser(attachedPort)
      .default(PORT),
    new Option('-t, --time <seconds>', 'of each measurement')
      .argParser(milliseconds)
      .default(1000, '1'),
    new Option('-S, --size <size>', 'bytes of a write, of a message and of an answer')
      .argParser(bytesArgument(1, 2 ** 24))
      .default(65_536, '64K'),
    new Option('--http', 'requests of HTTP/1.1 instead: both sides need it'),
    new Option('--echo', 'send the input, and print what comes back'),
    new Option('--compare', 'measure node:net too'),
    new Option('--json', 'one JSON object'),
  ];
  for (const option of options) command.addOption(option);
  addHelpEnd(command, {
    notes: [
      'The sides meet at the port of -E over TCP. Whoever reaches it may use the server: see docs/net.md.',
      'A half round trip is half the time from a write of 64 bytes to its echo.',
    ],
    examples: [
      ...examplesOfSides('net'),
      'npx libfabric net -p efa --compare HOST',
      'npx libfabric net -p efa --http HOST',
      'echo hello | npx libfabric net -p efa --echo HOST',
    ],
  });
  return command.action(async (host: string | undefined, flags: Flags, self: UsageCommand) => {
    if (flags.echo && host === undefined) self.error('error: --echo is an option of the client');
    // Imported here, because the sockets would slow down every other command.
    if (host === undefined) {
      const { serve } = await import('./serve.js');
      await serve(flags);
    } else if (flags.echo) {
      const { echo } = await import('./echo.js');
      await echo(host, flags);
    } else {
      const { measureAll } = await import('./measure.js');
      await measureAll(host, flags);
    }
  }) as UsageCommand;
}
