// The benchmarks of `npm start`: every size runs briefly and is verified. Several benchmarks run
// one after another between the same two processes.
import type { Info } from '../../../../info-types.js';
import type { BenchmarkRow } from '../../../shared/result.js';
import { exchangeAddressesAgain } from '../../common/address-exchange.js';
import { chooseSettings } from '../../common/choose-settings.js';
import { finalize } from '../../common/finalize.js';
import type { Timing } from '../../common/measure.js';
import type { OobSocket } from '../../common/oob.js';
import { addTestOptions, type Flags, TestCommand } from '../../common/options.js';
import { rowOf } from '../../common/result-row.js';
import { Session } from '../../common/session.js';
import type { Settings } from '../../common/settings.js';
import type { Benchmark, MeasureSize } from './benchmark.js';

/** 1 B to 8 MiB. */
export const SIZES: readonly number[] = Array.from({ length: 24 }, (_, power) => 2 ** power);

// About 0.2 s for each size, and at most the iterations of fabtests.
const TARGET_SECONDS = 0.2;
const MOST = 20_000;

/** A benchmark and its options. */
export interface Measurement {
  readonly benchmark: Benchmark;
  readonly name: string;
  /** What it measures. */
  readonly title: string;
  readonly options: readonly string[];
}

/** Receives the progress and the figures of a measurement. */
export interface DemoOutput {
  begin(info: Info): void;
  /** The next size starts. */
  size(size: number): void;
  row(row: BenchmarkRow): void;
}

/** The settings of one side, parsed from a command line. */
function settingsOf(
  { benchmark, options }: Measurement,
  provider: string,
  host: string | undefined,
  sizes: readonly number[],
): Settings {
  const command = addTestOptions(new TestCommand(benchmark.command));
  // In the dialect of fabtests 1.17 all writes go to one place. Separate places for a window of 8
  // MiB transfers would need half a gigabyte.
  const argv = ['-p', provider, '-E', '-v', '--fabtests', '1.17', '-S', `l:${sizes}`, ...options];
  command.parse(argv, { from: 'user' });
  const settings = chooseSettings(benchmark, command.opts<Flags>(), host, argv);
  return { ...settings, verifiesLast: true };
}

/** Runs one side of a measurement: the client if there is a host, otherwise the server. */
export async function measureSide(
  oob: OobSocket,
  host: string | undefined,
  provider: string,
  measurement: Measurement,
  sizes: readonly number[],
  audience?: DemoOutput,
): Promise<void> {
  const { benchmark } = measurement;
  const settings = settingsOf(measurement, provider, host, sizes);
  const needs = benchmark.needs(settings);
  const session = await Session.open(settings, needs, undefined, undefined, oob);
  try {
    await exchangeAddressesAgain(session);
    audience?.begin(session.info);
    const measure = await benchmark.prepare(session, Math.max(...sizes));
    for (const size of sizes) {
      audience?.size(size);
      const timing = await measureBriefly(session, oob, measure, size);
      audience?.row(rowOf(size, benchmark.transfersPerIteration(settings), timing, false));
    }
    await finalize(session);
  } catch (error) {
    const cause = await session.causeOf(error);
    await session.close((cause as Error).message).catch(() => {});
    throw cause;
  }
  await session.close(undefined, true);
}

async function measureBriefly(
  session: Session,
  oob: OobSocket,
  measure: MeasureSize,
  size: number,
): Promise<Timing> {
  const { window } = session.settings;
  const first = await succeeded(measure(size, window));
  const own = Math.ceil(TARGET_SECONDS / (first.seconds / first.iterations) / window) * window;
  const iterations = await agreeOn(session, oob, Math.min(own, MOST));
  return succeeded(measure(size, iterations));
}

async function succeeded(timing: Promise<Timing | undefined>): Promise<Timing> {
  const { error, ...measured } = (await timing) as Timing;
  if (error !== undefined) throw error;
  return measured;
}

/** Both sides use the client's number. */
async function agreeOn(session: Session, oob: OobSocket, number: number): Promise<number> {
  const message = Buffer.alloc(4);
  if (session.role === 'client') {
    message.writeUInt32LE(number);
    oob.send(message);
    return number;
  }
  return (await session.until(oob.receive(message.length))).readUInt32LE();
}
