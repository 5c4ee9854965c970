// npm start: two processes on this machine move data through libfabric and print fabtests' tables.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { rdmPingpong } from './cli/fabtests/benchmarks/rdm-pingpong.js';
import { rmaBandwidth } from './cli/fabtests/benchmarks/rma-bw.js';
import { type Measurement, measureSide, SIZES } from './cli/fabtests/benchmarks/shared/demo.js';
import { OobSocket } from './cli/fabtests/common/oob.js';
import { perfHeader, perfRow, sizeText } from './cli/shared/perf-table.js';
import { getInfo, libraryPath, version } from './index.js';
import { hasEfaDevice, loadSoftefa } from './softefa/index.js';

const LOOPBACK = '127.0.0.1';
const EMULATED = ', a software device: its speed is not that of EFA';
const START_TIMEOUT = 20_000; // milliseconds for the server process to start

const MEASUREMENTS: readonly Measurement[] = [
  {
    benchmark: rmaBandwidth,
    name: 'RMA write bandwidth, client to server, 64 writes in flight',
    options: ['-o', 'writedata'],
  },
  { benchmark: rdmPingpong, name: 'ping-pong latency, half a round trip', options: [] },
];

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
async function startServer(namespace: string): Promise<Server> {
  const child = fork(fileURLToPath(import.meta.url), ['--server', namespace]);
  const ended = once(child, 'exit').then(([code]) => {
    if (code !== 0) throw new Error(`the server process ended with code ${code}`);
  });
  ended.catch(() => {}); // callers that await it still get the error
  const [port] = (await Promise.race([once(child, 'message'), ended])) as [number];
  return { oob: await OobSocket.connect(port, LOOPBACK, START_TIMEOUT), ended };
}

async function client(): Promise<void> {
  const namespace = `start-${process.pid}`;
  const emulated = prepareDevice(namespace, 0);
  const { string } = version();
  console.log(`libfabric ${string} (${libraryPath()}), Node.js ${process.version}`);
  const { oob, ended } = await startServer(namespace);
  const steps = providers().length * MEASUREMENTS.length * SIZES.length;
  let step = 0;
  for (const provider of providers()) {
    for (const measurement of MEASUREMENTS) {
      await measureSide(oob, LOOPBACK, provider, measurement, {
        begin({ fabricAttr, domainAttr }) {
          const remark = emulated && provider === 'efa' ? EMULATED : '';
          console.log(
            `\n${fabricAttr.provName} (${domainAttr.name}${remark}): ${measurement.name}, verified`,
          );
          console.log(perfHeader());
        },
        size: (size) => progress(++step, steps, `${provider} ${sizeText(size)}`),
        row(row) {
          progress();
          console.log(perfRow(row));
        },
      });
    }
  }
  oob.close();
  await ended;
}

async function server(namespace: string): Promise<void> {
  prepareDevice(namespace, 1);
  const oob = await OobSocket.accept(0, LOOPBACK, undefined, (port) => process.send?.(port));
  process.disconnect();
  for (const provider of providers()) {
    for (const measurement of MEASUREMENTS) {
      await measureSide(oob, undefined, provider, measurement);
    }
  }
  oob.close();
}

/** A line on a terminal that disappears when the next row is printed. */
function progress(step?: number, steps?: number, what = ''): void {
  if (!process.stderr.isTTY) return;
  process.stderr.write(step === undefined ? '\r\x1b[K' : `\r\x1b[K[${step}/${steps}] ${what}`);
}

try {
  const [role, namespace] = process.argv.slice(2);
  await (role === '--server' && namespace !== undefined ? server(namespace) : client());
} catch (error) {
  progress();
  console.error(error instanceof Error ? (error.stack ?? error.message) : error);
  process.exit(1);
}
