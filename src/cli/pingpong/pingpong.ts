import { Command, InvalidArgumentError, Option } from 'commander';
import { MAX_PORT } from '../../base/checks.js';
import type { EpType } from '../../base/flags.js';
import { DeviceCounters } from '../fabtests/common/device-counters.js';
import { listenOob, type OobSocket, PortInUse } from '../fabtests/common/oob.js';
import type { Needs } from '../fabtests/common/open-endpoint.js';
import { sizes } from '../fabtests/common/options.js';
import { resolveHost } from '../fabtests/common/resolve-host.js';
import { printingResult, ResultPrinter } from '../fabtests/common/result-printer.js';
import { rowOf } from '../fabtests/common/result-row.js';
import { Session } from '../fabtests/common/session.js';
import type { Settings } from '../fabtests/common/settings.js';
import type { SizeChoice } from '../fabtests/common/sizes.js';
import { type Control, interruptibly } from '../fabtests/common/test-command.js';
import { type Written, writtenArguments } from '../fabtests/common/written-arguments.js';
import { addHelpEnd, examplesOfSides } from '../shared/help.js';
import { pingpongHeader, pingpongRow } from '../shared/perf-table.js';
import { deviceOf } from '../shared/result-header.js';
import { CONTROL_PORT, receiveName, sendName, shareCount, synchronize } from './control.js';
import { Messages } from './measure.js';

interface Flags {
  readonly provider?: string;
  readonly fabric?: string;
  readonly domain?: string;
  readonly type: string;
  readonly source?: string;
  readonly sourcePort: number;
  readonly port: number;
  readonly iterations: number;
  readonly size: SizeChoice;
  readonly check?: true;
  readonly mode: string;
  readonly stats?: true;
  readonly json?: true;
  readonly label?: string;
  readonly timeout: number;
}

const TYPES: Record<string, EpType> = { rdm: 'FI_EP_RDM', dgram: 'FI_EP_DGRAM' };

const refuse = (problem: string): never => {
  throw new InvalidArgumentError(problem);
};

const count = (from: number, to: number) => (text: string) => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < from || value > to) {
    refuse(`It must be a whole number from ${from} to ${to}.`);
  }
  return value;
};

function endpointType(text: string): string {
  if (text === 'msg') refuse('Connected endpoints (FI_EP_MSG) are not offered; use rdm.');
  return Object.hasOwn(TYPES, text) ? text : refuse('It must be rdm or dgram.');
}

function size(text: string): SizeChoice {
  const choice = sizes(text);
  return choice.kind === 'several' ? refuse('It must be a number or all.') : choice;
}

/** libfabric pingpong: fi_pingpong(1), with its options and its protocol. */
export function pingpongCommand(): Command {
  const command = new Command('pingpong')
    .summary('fi_pingpong: latency of messages, with its own control connection')
    .description(
      'Measures the latency of messages as fi_pingpong(1) does, with its options and its protocol. ' +
        'Either side may be fi_pingpong. Note: -e defaults to dgram, -c verifies, and -v prints debugging output.',
    )
    .argument('[server]', 'the server to connect to; without it this side is the server')
    .option('-p, --provider <name>', 'efa, shm, tcp, udp, ...')
    .option('-f, --fabric <name>', 'fabric name')
    .option('-d, --domain <name>', 'domain name')
    .addOption(
      new Option('-e, --type <type>', 'endpoint type: rdm or dgram')
        .argParser(endpointType)
        .default('dgram'),
    )
    .option('-s, --source <address>', 'local address')
    .option(
      '-B, --source-port <port>',
      'control port of the server',
      count(1, MAX_PORT),
      CONTROL_PORT,
    )
    .option('-P, --port <port>', 'control port to connect to', count(1, MAX_PORT), CONTROL_PORT)
    .option('-I, --iterations <n>', 'iterations', count(1, 2 ** 31 - 1), 10)
    .addOption(
      new Option('-S, --size <size>', 'bytes: a number or all')
        .argParser(size)
        .default({ kind: 'default' } satisfies SizeChoice, '64, 256, 1k, 4k, 64k, 1m'),
    )
    .option('-c, --check', 'check every byte')
    .addOption(
      new Option('-m, --mode <mode>', 'messages').choices(['msg', 'tagged']).default('msg'),
    )
    .option('-v, --debug', 'debugging output (libfabric has its own: FI_LOG_LEVEL=debug)')
    .option('-6, --ipv6', 'control connection over IPv6 (the name of the server decides)')
    .option('--stats', 'percentiles, spread and CPU below the table')
    .option('--json', 'one JSON object, with everything')
    .option('--label <text>', 'a name for the result')
    .option(
      '--timeout <seconds>',
      'seconds without progress until the peer counts as gone',
      count(1, 86_400),
      10,
    )
    .action(async (host: string | undefined, flags: Flags, self: Command) => {
      const settings = await resolveHost(settingsOf(flags, host, writtenArguments(self)));
      await interruptibly((control) => run(settings, flags, control));
    });
  return addHelpEnd(command, { examples: examplesOfSides('pingpong') });
}

function settingsOf(
  flags: Flags,
  host: string | undefined,
  { argv, clientArgv }: Written,
): Settings {
  const port = flags.sourcePort === CONTROL_PORT ? [] : ['-P', String(flags.sourcePort)];
  return {
    command: 'pingpong',
    argv,
    clientArgv: [...clientArgv, ...port],
    type: TYPES[flags.type] as EpType,
    ...(host !== undefined && { host }),
    ...(flags.provider !== undefined && { provider: flags.provider }),
    ...(flags.fabric !== undefined && { fabric: flags.fabric }),
    ...(flags.domain !== undefined && { domain: flags.domain }),
    ...(flags.source !== undefined && { sourceAddress: flags.source }),
    connections: 1,
    oobExchange: true,
    oobSync: true,
    oobPort: host === undefined ? flags.sourcePort : flags.port,
    sizes: flags.size,
    iterations: flags.iterations,
    warmUp: 0,
    window: 1,
    verify: flags.check === true,
    prePosted: true,
    prefix: false,
    deliveryComplete: false,
    counters: false,
    fiMore: false,
    rxCqData: true,
    output: flags.json ? 'json' : 'table',
    statistics: flags.stats === true || flags.json === true,
    ...(flags.label !== undefined && { label: flags.label }),
    timeout: flags.timeout,
  };
}

async function run(settings: Settings, flags: Flags, control: Control): Promise<void> {
  const needs = { caps: [flags.mode === 'tagged' ? 'FI_TAGGED' : 'FI_MSG'] } as const;
  const session = await (settings.host === undefined
    ? serve(settings, needs, control)
    : call(settings, needs, control));
  control.target = session;
  const report = new ResultPrinter({ bandwidth: false }, settings, deviceOf(session.ep));
  await printingResult(report, session, () =>
    measureSizes(session, session.connections.oob as OobSocket, report),
  );
}

/** The client's session. It selects an endpoint with the address format of its server. */
async function call(settings: Settings, needs: Needs, control: Control): Promise<Session> {
  let name: Uint8Array | undefined;
  const receiveServerName = async (oob: OobSocket): Promise<Partial<Settings>> => {
    const { format, address } = await receiveName(oob);
    name = address;
    return format === 'FI_FORMAT_UNSPEC' ? {} : { addrFormat: format };
  };
  const session = await Session.open(settings, needs, {
    signal: control.signal,
    beforeOpen: receiveServerName,
  });
  sendOwnName(session, session.connections.oob as OobSocket);
  session.peer = session.ep.av.insert(name as Uint8Array);
  return session;
}

const sendOwnName = ({ info, ep }: Session, oob: OobSocket) =>
  sendName(oob, { format: info.addrFormat, address: ep.address });

/**
 * The server's session. The server sends its name first, and the address in it depends on where a client has connected. The
 * candidate that answers with a name is the client.
 */
async function serve(settings: Settings, needs: Needs, { signal }: Control): Promise<Session> {
  const candidates = await listenOob(settings, signal).catch((error) => {
    if (!(error instanceof PortInUse)) throw error;
    throw new Error(
      `TCP port ${error.port} is in use on this host; choose another one: -B PORT here, -P PORT at the client`,
    );
  });
  const sessions = new Map<string | undefined, Promise<Session>>();
  const sessionAt = (candidate: OobSocket) => {
    const { localAddress } = candidate;
    const session =
      sessions.get(localAddress) ?? Session.open(settings, needs, { signal, oob: candidate });
    sessions.set(localAddress, session);
    session.catch((error) => candidates.close(error)); // the error does not come from the candidate
    return session;
  };
  const meets = async (candidate: OobSocket) => {
    const session = await sessionAt(candidate);
    sendOwnName(session, candidate);
    const { address } = await receiveName(candidate);
    return { session, peer: session.ep.av.insert(address) };
  };
  let chosen: Session | undefined;
  try {
    const anyone = async () => {};
    const [oob, { session, peer }] = await candidates.client({
      begins: anyone,
      meets,
      atOnce: Infinity,
    });
    candidates.close();
    oob.recognize();
    session.connections.oob = oob;
    session.peer = peer;
    chosen = session;
    return session;
  } finally {
    for (const opening of sessions.values()) {
      const session = await opening.catch(() => undefined);
      if (session !== chosen) await session?.close('another address was chosen');
    }
  }
}

async function measureSizes(
  session: Session,
  oob: OobSocket,
  report: ResultPrinter,
): Promise<void> {
  const { settings, info } = session;
  const { iterations = 10, statistics, sizes: choice } = settings;
  const most = Number(info.epAttr.maxMsgSize);
  const messages = await Messages.allocate(session, roomOf(choice, most));
  const counters = statistics ? await DeviceCounters.open(session.nics) : undefined;
  for (const size of sizesOf(choice, most)) {
    const timing = await messages.measure(size, iterations, statistics, () =>
      synchronize(session, oob),
    );
    if (timing.error !== undefined) throw timing.error;
    const acknowledged = await shareCount(session, oob, timing.iterations);
    const row = {
      ...rowOf(size, 2, timing, statistics),
      ...(counters && { counters: await counters.grown() }),
    };
    report.row(row, { header: pingpongHeader(), text: pingpongRow(row, acknowledged) });
  }
  session.end();
  await messages.finish();
}

const DEFAULT = [64, 256, 1024, 4096, 65_536, 2 ** 20];
const LARGEST = 2 ** 22 + 2 ** 21;

/** Bytes that fi_pingpong allocates for a message. */
export function roomOf(choice: SizeChoice, maxMsgSize: number): number {
  return Math.min(choice.kind === 'one' ? choice.size : LARGEST, maxMsgSize);
}

/** The sizes that fi_pingpong measures: with `all` 0, 1, 2, 3, 4, 6, 8, 12, ... */
export function sizesOf(choice: SizeChoice, maxMsgSize: number): number[] {
  const room = roomOf(choice, maxMsgSize);
  if (choice.kind === 'one') return choice.size <= room ? [choice.size] : [];
  if (choice.kind !== 'all') return DEFAULT.filter((size) => size <= room);
  const sizes = [0, 1];
  for (let power = 2; power <= room; power *= 2) sizes.push(power, power * 1.5);
  return sizes.filter((size) => size <= room);
}
