// npm start: two processes on this machine move data through libfabric, over each provider that
// there is. -v also prints fabtests' tables.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { rdmPingpong } from './cli/fabtests/benchmarks/rdm-pingpong.js';
import { rmaBandwidth } from './cli/fabtests/benchmarks/rma-bw.js';
import { type Measurement, measureSide, SIZES } from './cli/fabtests/benchmarks/shared/demo.js';
import { OobSocket } from './cli/fabtests/common/oob.js';
import { perfHeader, perfRow, sizeText } from './cli/shared/perf-table.js';
import { Progress } from './cli/shared/progress.js';
import type { BenchmarkRow } from './cli/shared/result.js';
import { getInfo, libraryPath, version } from './index.js';
import type { Info } from './info-types.js';
import { hasEfaDevice, loadSoftefa } from './softefa/index.js';

const LOOPBACK = '127.0.0.1';
const START_TIMEOUT = 20_000; // milliseconds for the server process to start
const LATENCY_SIZE = 64;
const BANDWIDTH_SIZE = 2 ** 20;

/** A measurement that each provider makes. */
interface Step extends Measurement {
  readonly summary: (row: BenchmarkRow) => string;
  /** The size in the summary. */
  readonly size: number;
}

const STEPS: readonly Step[] = [
  {
    benchmark: rdmPingpong,
    name: 'latency',
    title: 'ping-pong latency, half a round trip',
    options: [],
    size: LATENCY_SIZE,
    summary: (row) =>
      `${figureText(row.microsecondsPerTransfer)} µs for 64 B, half a round trip of messages`,
  },
  {
    benchmark: rmaBandwidth,
    name: 'bandwidth',
    title: 'RMA write bandwidth, client to server, 64 writes in flight',
    options: ['-o', 'writedata'],
    size: BANDWIDTH_SIZE,
    summary: (row) => `${figureText(row.megabytesPerSecond)} MB/s for 1 MiB, 64 writes in flight`,
  },
];

const figureText = (value: number): string => String(Number(value.toPrecision(3)));

/** Without an EFA device, creates software ones: two hosts that only these two processes see. */
function prepareDevice(namespace: string, node: number): boolean {
  if (hasEfaDevice()) return false;
  loadSoftefa({ namespace, node });
  return true;
}

/** The providers to run on: EFA, shared memory, sockets. */
function providers(): string[] {
  return ['efa', 'shm', 'tcp'].filter(
    (provName) =>
      getInfo({
        fabricAttr: { provName },
        epAttr: { type: 'FI_EP_RDM' },
        caps: ['FI_MSG', 'FI_RMA'],
      }).length > 0,
  );
}

interface Server {
  readonly oob: OobSocket;
  /** Rejects if the server process fails. */
  readonly ended: Promise<unknown>;
}

/** Starts this program again as the server, and connects to it. */
async function startServer(namespace: string, verbose: boolean): Promise<Server> {
  const args = ['--server', namespace, ...(verbose ? ['--verbose'] : [])];
  const child = fork(fileURLToPath(import.meta.url), args);
  const ended = once(child, 'exit').then(([code]) => {
    if (code !== 0) throw new Error(`the server process ended with code ${code}`);
  });
  ended.catch(() => {}); // callers that await it still get the error
  const [port] = (await Promise.race([once(child, 'message'), ended])) as [number];
  return { oob: await OobSocket.connect(port, LOOPBACK, START_TIMEOUT), ended };
}

const sizesOf = (step: Step, verbose: boolean) => (verbose ? SIZES : [step.size]);

async function client(verbose: boolean): Promise<void> {
  const namespace = `start-${process.pid}`;
  const emulated = prepareDevice(namespace, 0);
  const { string } = version();
  console.log(`libfabric ${string} (${libraryPath()}), Node.js ${process.version}`);
  const { oob, ended } = await startServer(namespace, verbose);
  const all = providers();
  const each = STEPS.flatMap((step) => sizesOf(step, verbose).map(() => 1));
  const progress = new Progress(all.flatMap(() => each));
  try {
    for (const provider of all) {
      const { info, lines } = await measureProvider(oob, provider, verbose, progress);
      const name = info?.domainAttr.name ?? '';
      progress.clear();
      console.log(`\n${[provider, ...lines, deviceText(provider, name, emulated)].join('\n  ')}`);
    }
  } finally {
    progress.end();
  }
  oob.close();
  await ended;
  console.log(nextSteps(verbose));
}

/** Measures a provider. Returns its entry and the lines of its summary. */
async function measureProvider(
  oob: OobSocket,
  provider: string,
  verbose: boolean,
  progress: Progress,
): Promise<{ info: Info | undefined; lines: string[] }> {
  const lines: string[] = [];
  let info: Info | undefined;
  for (const step of STEPS) {
    await measureSide(oob, LOOPBACK, provider, step, sizesOf(step, verbose), {
      begin(entry) {
        info = entry;
        progress.clear();
        if (verbose) console.log(`\n${provider}: ${step.title}, verified\n${perfHeader()}`);
      },
      size: (size) => progress.next(`${provider} ${step.name} ${sizeText(size)}`),
      row(row) {
        progress.clear();
        if (verbose) console.log(perfRow(row));
        if (row.size === step.size) lines.push(`${step.name.padEnd(11)}${step.summary(row)}`);
      },
    });
  }
  return { info, lines };
}

function deviceText(provider: string, name: string, emulated: boolean): string {
  const remarks: Record<string, string> = {
    efa: emulated
      ? 'a device in software: its speed is not that of EFA'
      : 'within this machine, where efa may use shared memory',
    shm: 'the shared memory of this machine',
    tcp: 'sockets within this machine',
  };
  return `${'ran on'.padEnd(11)}${name}: ${remarks[provider]}`;
}

function nextSteps(verbose: boolean): string {
  const steps = [
    ['npx libfabric doctor', 'whether EFA works on this machine, and how to fix it if not'],
    ['npx libfabric --help', 'the benchmarks and checks between two machines, and more'],
    ...(verbose ? [] : [['npm start -- -v', 'the tables of all sizes']]),
    ['README.md', 'the first program, in ten lines'],
  ];
  const lines = steps.map(([command = '', what]) => `  ${command.padEnd(22)}${what}`);
  return `\nAll data was verified. Next:\n${lines.join('\n')}`;
}

async function server(namespace: string, verbose: boolean): Promise<void> {
  prepareDevice(namespace, 1);
  const oob = await OobSocket.accept(0, LOOPBACK, undefined, (port) => process.send?.(port));
  process.disconnect();
  for (const provider of providers()) {
    for (const step of STEPS) {
      await measureSide(oob, undefined, provider, step, sizesOf(step, verbose));
    }
  }
  oob.close();
}

const OPTIONS = {
  verbose: { type: 'boolean', short: 'v', default: false },
  server: { type: 'string' },
} as const;

/** The options. Ends the process if they are wrong. */
function parsed() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    console.error(
      `${(error as Error).message}\nThe only option is -v, which prints the tables of all sizes.`,
    );
    process.exit(2);
  }
}

try {
  const { verbose, server: namespace } = parsed();
  await (namespace === undefined ? client(verbose) : server(namespace, verbose));
} catch (error) {
  console.error(error instanceof Error ? (error.stack ?? error.message) : error);
  process.exit(1);
}
