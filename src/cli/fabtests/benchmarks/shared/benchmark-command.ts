import { sizeText } from '../../../shared/perf-table.js';
import { Progress } from '../../../shared/progress.js';
import type { BenchmarkRow } from '../../../shared/result.js';
import { deviceOf } from '../../../shared/result-header.js';
import { exchangeAddresses } from '../../common/address-exchange.js';
import { announceSizes, checkAgreement, checkSizes, withSizes } from '../../common/check-sizes.js';
import { DeviceCounters } from '../../common/device-counters.js';
import { whyTooShort, withDeviceMemory } from '../../common/device-memory.js';
import { finalize } from '../../common/finalize.js';
import { Usage } from '../../common/measure.js';
import { printingResult, ResultPrinter } from '../../common/result-printer.js';
import { rowOf } from '../../common/result-row.js';
import { Session } from '../../common/session.js';
import type { Settings } from '../../common/settings.js';
import { iterationsOf, roomOf, sizesOf } from '../../common/sizes.js';
import { type Control, testCommand } from '../../common/test-command.js';
import type { Benchmark } from './benchmark.js';

/** The command of a benchmark. */
export function benchmarkCommand(benchmark: Benchmark) {
  const command = testCommand(benchmark, (settings, control) =>
    runBenchmark(benchmark, settings, control),
  );
  for (const option of benchmark.options?.() ?? []) {
    command.addOption(option.helpGroup('Peer and provider:'));
  }
  return command;
}

/** Runs one side of a benchmark and prints its figures. */
async function runBenchmark(
  benchmark: Benchmark,
  given: Settings,
  control: Control,
): Promise<void> {
  const [settings, needs] = withDeviceMemory(given, benchmark.needs(given));
  checkSizes(settings, needs);
  const session = await Session.open(settings, needs, { signal: control.signal });
  control.target = session;
  const report = new ResultPrinter(benchmark, settings, deviceOf(session.ep));
  await printingResult(report, session, async () => {
    if (!benchmark.needs(given).caps.includes('FI_RMA')) checkShortest(session);
    await exchangeAddresses(session);
    await measureSizes(benchmark, session, (row) => report.row(row));
    await finalize(session);
  });
}

/** Throws if messages of a size cannot come from the memory of a device. */
function checkShortest(session: Session): void {
  const { settings, info } = session;
  if (settings.deviceMemory === undefined) return;
  const sizes = sizesOf(settings.sizes, Number(info.epAttr.maxMsgSize));
  const shortest = sizes.reduce((least, size) => Math.min(least, size), Number.POSITIVE_INFINITY);
  const reason = whyTooShort(session, shortest);
  if (reason === undefined) return;
  throw new Error(
    `${reason}; give both sides longer ones, such as -S l:64,1024,4096, or use rma-bw, which writes any number of bytes`,
  );
}

async function measureSizes(
  benchmark: Benchmark,
  session: Session,
  tell: (row: BenchmarkRow) => void,
): Promise<void> {
  const { settings, info } = session;
  const { statistics } = settings;
  const most = Number(info.epAttr.maxMsgSize);
  const sizes = sizesOf(settings.sizes, most);
  announceSizes(session, sizes);
  const measure = await benchmark.prepare(session, roomOf(settings.sizes, most));
  const counters = statistics ? await DeviceCounters.open(session.nics) : undefined;
  const iterationsAt = (size: number) =>
    settings.iterations ?? iterationsOf(size, benchmark.bandwidth);
  const progress = new Progress(sizes.map((size) => usualTime(size, iterationsAt(size))));
  try {
    for (const size of sizes) {
      progress.next(`${sizeText(size)} bytes`);
      const usage = new Usage();
      const timing = await measure(size, iterationsAt(size)).catch(async (error) => {
        throw withSizes(await session.causeOf(error), size);
      });
      await checkAgreement(session);
      session.connections.link?.send({ size, cpu: timing?.cpu ?? usage.cores });
      if (timing === undefined) continue;
      if (timing.iterations > 0) {
        const row = {
          ...rowOf(size, benchmark.transfersPerIteration(settings), timing, statistics),
          ...(counters && { counters: await counters.grown() }),
        };
        const told = statistics && timing.error === undefined ? await withPeer(session, row) : row;
        progress.clear();
        tell(told);
      }
      if (timing.error !== undefined) throw timing.error;
    }
  } finally {
    progress.end();
  }
}

// Microseconds that a size takes: the sync, and for each transfer a latency and its bytes. Progress
// needs only their proportion.
const usualTime = (size: number, iterations: number) => 50_000 + iterations * (2 + size / 4000);

/** Adds the peer's CPU use to a row. The peer reports it after it has finished the same size. */
async function withPeer(session: Session, row: BenchmarkRow): Promise<BenchmarkRow> {
  const { link } = session.connections;
  if (link === undefined || row.cpu === undefined) return row;
  while (true) {
    const note = await session.until(link.receive());
    if (note === undefined) return row;
    const { size, cpu } = note as { size?: unknown; cpu?: unknown };
    if (size === row.size && typeof cpu === 'number') {
      return { ...row, cpu: { own: row.cpu.own, peer: cpu } };
    }
  }
}
