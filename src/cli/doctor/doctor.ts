import { Command, InvalidArgumentError, Option } from 'commander';
import { isPort, MAX_PORT } from '../../base/checks.js';
import { EXIT_CODES, type Finding } from './diagnosis.js';
import { diagnosisOf } from './examine.js';
import { efaDomains } from './library.js';
import { type Machine, thisMachine } from './machine.js';
import { ReachError } from './peer/connection.js';
import { fabricFinding, noEfaFinding, tcpFinding } from './peer/findings.js';
import { listen } from './peer/listen.js';
import { probe, type Target } from './peer/probe.js';
import { diagnosisText } from './text.js';

const PORT = 47593;

interface Flags {
  readonly json?: true;
  readonly verbose?: true;
  readonly require?: 'efa';
  readonly peer?: string;
  readonly listen?: true | string;
  readonly port: number;
  /** Milliseconds. */
  readonly timeout: number;
}

/** libfabric doctor: whether EFA works on this machine, and how to fix it if not. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .summary('check whether EFA works here, and show how to fix it if not')
    .description(
      'Checks everything that EFA needs on this machine, and between two machines: the device, its driver, ' +
        'libfabric, rdma-core, locked memory, the environment, security groups. Each failed check shows what ' +
        'was found, what was expected, why it matters, and how to fix it.\n\n' +
        'The exit code is 0 if all checks passed, even without an EFA, 1 if there are warnings, and 2 if ' +
        'libfabric, an EFA that is present or required, or the peer cannot be used.',
    )
    .option('-v, --verbose', 'show the details of all checks, and the skipped checks')
    .option('--json', 'print the findings as JSON, with stable names')
    .addOption(
      new Option('--require <what>', 'fail if this machine has none, in hardware or software')
        .choices(['efa'])
        .conflicts('listen'),
    )
    .addOption(
      new Option('--peer <host>', 'also test EFA to a host that runs --listen').conflicts('listen'),
    )
    .addOption(
      new Option(
        '--listen [address]',
        'answer doctors that run with --peer, until Ctrl-C',
      ).conflicts(['json', 'verbose']),
    )
    .option('--port <n>', 'TCP port that connects the two sides', portNumber, PORT)
    .addOption(
      new Option('--timeout <s>', 'seconds for each step of --peer')
        .argParser(milliseconds)
        .default(10_000, '10'),
    )
    .addHelpText(
      'after',
      `
Examples:
  npx libfabric doctor
  npx libfabric doctor --require efa       # on CI machines and cluster nodes that have EFA
  npx libfabric doctor --json | jq '.findings[] | select(.status == "error")'
  npx libfabric doctor --listen            # on one host
  npx libfabric doctor --peer 10.0.0.2     # on another
  npx libfabric softefa -- npx libfabric doctor`,
    )
    .action((flags: Flags) => (flags.listen ? answerPeers(flags) : diagnose(flags)));
}

async function diagnose(flags: Flags): Promise<void> {
  const { json, verbose, peer: host, port, timeout } = flags;
  const startedAt = new Date();
  process.exitCode = EXIT_CODES.error; // in case of an error before the report
  const env = prepare(host !== undefined);
  const machine = await thisMachine(env);
  const peer = host !== undefined && {
    peer: { host, findings: await peerFindings({ host, port, timeout }, machine) },
  };
  const report = diagnosisOf(machine, startedAt, {
    requireEfa: flags.require === 'efa',
    ...peer,
  });
  const columns = Math.min(process.stdout.columns ?? 100, 120);
  process.stdout.write(
    json
      ? `${JSON.stringify(report, null, 2)}\n`
      : diagnosisText(report, verbose ?? false, columns),
  );
  process.exitCode = EXIT_CODES[report.status];
}

async function peerFindings(target: Target, { library }: Machine): Promise<Finding[]> {
  const domains = library.loaded?.efaDomains ?? [];
  if (domains.length === 0) return [noEfaFinding('libfabric offers no EFA on this side')];
  try {
    const attempts = await probe(target, domains);
    return [tcpFinding(target), ...attempts.map(fabricFinding)];
  } catch (error) {
    if (!(error instanceof ReachError)) throw error;
    return [tcpFinding(target, error)];
  }
}

async function answerPeers({ listen: address, port }: Flags): Promise<void> {
  prepare(true);
  const domains = efaDomains();
  if (domains.length === 0) {
    console.error('libfabric offers no EFA on this side, and the probe tests EFA only.');
    console.error('npx libfabric doctor shows the reason.');
    process.exitCode = EXIT_CODES.error;
    return;
  }
  const control = new AbortController();
  // The handlers stay, because npx forwards a Ctrl-C that the terminal has also sent.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => control.abort());
  const host = address === true ? undefined : address;
  await listen(host, port, domains, control.signal, (line) => console.log(line));
}

/** Prepares the environment for libfabric. Returns the environment as it was before. */
function prepare(probes: boolean): NodeJS.ProcessEnv {
  const env = { ...process.env };
  // A peer on this host must be reached through the device, too.
  if (probes) process.env.FI_EFA_ENABLE_SHM_TRANSFER ??= '0';
  return env;
}

function portNumber(text: string): number {
  if (!isPort(text)) throw new InvalidArgumentError(`It is not a port, from 0 to ${MAX_PORT}.`);
  return Number(text);
}

function milliseconds(text: string): number {
  const value = Math.round(Number(text) * 1000);
  if (text.trim() === '' || !(value >= 1 && value <= 300_000)) {
    throw new InvalidArgumentError('It is not a number of seconds, up to 300.');
  }
  return value;
}
