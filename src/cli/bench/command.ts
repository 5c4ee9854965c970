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
    const measured = await measure(size, iterations);
    if (measured === undefined) continue;
    const { error } = measured.timing;
    if (measured.iterations > 0) {
      const row = rowOf(benchmark, size, measured, settings.statistics);
      tell(row);
    }
    if (error !== undefined) throw error;
  }
}
