import { introduceSides } from '../fabtests/exchange.js';
import { Session } from '../fabtests/session.js';
import type { Settings } from '../fabtests/settings.js';
import { iterationsOf, roomOf, sizesOf } from '../fabtests/sizes.js';
import { type Control, testCommand } from '../fabtests/test-command.js';
import type { BenchmarkRow } from '../result.js';
import type { Benchmark } from './benchmark.js';
import { Report } from './report.js';
import { rowOf } from './statistics.js';

/** The command of a benchmark. */
export function benchmarkCommand(benchmark: Benchmark) {
  return testCommand(benchmark, (settings, control) => runBenchmark(benchmark, settings, control));
}

/** Runs one side of a benchmark, and tells what it measures. */
async function runBenchmark(
  benchmark: Benchmark,
  settings: Settings,
  control: Control,
): Promise<void> {
  const session = await Session.open(settings, benchmark.needs(settings), control.signal);
  control.target = session;
  const report = new Report(benchmark, settings, session.info);
  try {
    await introduceSides(session);
    await measureSizes(benchmark, session, (row) => report.row(row));
    await session.finish();
  } catch (error) {
    const reason = (error as Error).message;
    report.end(`it has not come to its end: ${reason}`);
    await session.close(reason).catch(() => {});
    throw error;
  }
  report.end();
  await session.close();
}

async function measureSizes(
  benchmark: Benchmark,
  session: Session,
  tell: (row: BenchmarkRow) => void,
): Promise<void> {
  const { settings, info } = session;
  const most = Number(info.epAttr.maxMsgSize);
  const measure = await benchmark.prepare(session, roomOf(settings.sizes, most));
  for (const size of sizesOf(settings.sizes, most)) {
    const iterations = settings.iterations ?? iterationsOf(size, benchmark.bandwidth);
    const timing = await measure(size, iterations);
    if (timing === undefined) continue;
    if (timing.iterations > 0) {
      tell(rowOf(size, benchmark.transfersPerIteration(settings), timing, settings.statistics));
    }
    if (timing.error !== undefined) throw timing.error;
  }
}
