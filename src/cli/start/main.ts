// npm start: two processes on this machine move data through libfabric, over each available
// provider. -v also prints fabtests' tables.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Info } from '../../contract/info-types.js';
import { getInfo, libraryPath, version } from '../../index.js';
import { hasEfaDevice, loadSoftefa } from '../../softefa/index.js';
import { OobSocket } from '../fabtests/common/oob.js';
import { handleOutputErrors } from '../shared/output-errors.js';
import { perfHeader, perfRow, sizeText } from '../shared/perf-table.js';
import { Progress } from '../shared/progress.js';
import { type Link, measureSide, verifySide } from './benchmarks.js';
import { takeCores } from './cores.js';
import { measureService } from './service.js';
import { STEPS, sizesOf } from './steps.js';
import { deviceText, line, nextSteps, serviceText } from './texts.js';

const LOOPBACK = '127.0.0.1';
const START_TIMEOUT = 20_000; // milliseconds for the server process to start

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
  readonly link: Link;
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
  const oob = await OobSocket.connect(port, LOOPBACK, START_TIMEOUT);
  return { link: { oob, host: LOOPBACK }, ended };
}

async function client(verbose: boolean): Promise<void> {
  const namespace = `start-${process.pid}`;
  const emulated = prepareDevice(namespace, 0);
  const { string } = version();
  console.log(`libfabric ${string} (${libraryPath()}), Node.js ${process.version}`);
  const { link, ended } = await startServer(namespace, verbose);
  const all = providers();
  const runs = STEPS.flatMap((step) => sizesOf(step, verbose)).length + 1;
  const progress = new Progress(all.flatMap(() => Array<number>(runs).fill(1)));
  try {
    for (const provider of all) {
      const { info, lines } = await measureProvider(link, provider, verbose, progress);
      const name = info?.domainAttr.name ?? '';
      progress.clear();
      console.log(`\n${[provider, ...lines, deviceText(provider, name, emulated)].join('\n  ')}`);
    }
  } finally {
    progress.end();
  }
  link.oob.close();
  await ended;
  console.log(nextSteps(verbose));
}

/** Measures a provider. Returns its entry and the lines of its summary. */
async function measureProvider(
  link: Link,
  provider: string,
  verbose: boolean,
  progress: Progress,
): Promise<{ info: Info | undefined; lines: string[] }> {
  const lines: string[] = [];
  let info: Info | undefined;
  takeCores(0, 1);
  for (const step of STEPS) {
    const sizes = sizesOf(step, verbose);
    await measureSide(link, provider, step, sizes, {
      begin(entry) {
        info = entry;
        progress.clear();
        if (verbose) console.log(`\n${provider}: ${step.title}\n${perfHeader()}`);
      },
      size: (size) => progress.next(`${provider} ${step.name} ${sizeText(size)}`),
      row(row) {
        progress.clear();
        if (verbose) console.log(perfRow(row));
        if (row.size === step.size) lines.push(line(step.name, step.summary(row)));
      },
    });
    await verifySide(link, provider, step, sizes);
  }
  takeCores(0, 2); // the event loop, and the thread of the package
  progress.next(`${provider} promises`);
  lines.push(serviceText(await measureService(link.oob, 'client', provider)));
  return { info, lines };
}

async function server(namespace: string, verbose: boolean): Promise<void> {
  prepareDevice(namespace, 1);
  const oob = await OobSocket.accept(0, LOOPBACK, undefined, (port) => process.send?.(port));
  process.disconnect();
  const link = { oob, host: undefined };
  for (const provider of providers()) {
    takeCores(1, 1);
    for (const step of STEPS) {
      const sizes = sizesOf(step, verbose);
      await measureSide(link, provider, step, sizes);
      await verifySide(link, provider, step, sizes);
    }
    takeCores(1, 2);
    await measureService(oob, 'server', provider);
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

handleOutputErrors();
try {
  const { verbose, server: namespace } = parsed();
  await (namespace === undefined ? client(verbose) : server(namespace, verbose));
} catch (error) {
  console.error(error instanceof Error ? (error.stack ?? error.message) : error);
  process.exit(1);
}
