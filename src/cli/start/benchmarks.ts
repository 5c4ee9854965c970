// The benchmarks of `npm start`: every size runs briefly. Several benchmarks run one after another
// between the same two processes.

import type { Info } from '../../contract/info-types.js';
import type { Benchmark, MeasureSize } from '../fabtests/benchmarks/shared/benchmark.js';
import { exchangeAddressesAgain } from '../fabtests/common/address-exchange.js';
import { chooseSettings } from '../fabtests/common/choose-settings.js';
import { finalize } from '../fabtests/common/finalize.js';
import type { Timing } from '../fabtests/common/measure.js';
import type { OobSocket } from '../fabtests/common/oob.js';
import { addTestOptions, type Flags, TestCommand } from '../fabtests/common/options.js';
import { rowOf } from '../fabtests/common/result-row.js';
import { Session } from '../fabtests/common/session.js';
import type { Settings } from '../fabtests/common/settings.js';
import type { BenchmarkRow } from '../shared/result.js';

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
export interface Listener {
  begin(info: Info): void;
  /** The next size starts. */
  size(size: number): void;
  row(row: BenchmarkRow): void;
}

/** The connection to the other side. The client knows the server's host. */
export interface Link {
  readonly oob: OobSocket;
  readonly host: string | undefined;
}

/** The settings of one side, parsed from a command line. */
function settingsOf(
  { benchmark, options }: Measurement,
  provider: string,
  host: string | undefined,
  sizes: readonly number[],
  verify: boolean,
): Settings {
  const command = addTestOptions(new TestCommand(benchmark.command));
  // In the dialect of fabtests 1.17 all writes go to one place. Separate places for a window of 8
  // MiB transfers would need half a gigabyte.
  const common = ['-p', provider, '-E', '--fabtests', '1.17', '-S', `l:${sizes}`];
  const argv = [...common, ...(verify ? ['-v'] : []), ...options];
  command.parse(argv, { from: 'user' });
  return chooseSettings(benchmark, command.opts<Flags>(), host, { argv, clientArgv: [] });
}

/** Runs one side of a measurement. The timed loops are native. */
export async function measureSide(
  link: Link,
  provider: string,
  measurement: Measurement,
  sizes: readonly number[],
  listener?: Listener,
): Promise<void> {
  const { benchmark } = measurement;
  const settings = settingsOf(measurement, provider, link.host, sizes, false);
  const room = Math.max(...sizes);
  await between(link.oob, measurement.benchmark, settings, room, async (session, measure) => {
    listener?.begin(session.info);
    for (const size of sizes) {
      listener?.size(size);
      const timing = await measureBriefly(session, link.oob, measure, size);
      listener?.row(rowOf(size, benchmark.transfersPerIteration(settings), timing, false));
    }
  });
}

/** Runs one side of the same transfers once more, a window of each size, and verifies their data. */
export async function verifySide(
  link: Link,
  provider: string,
  measurement: Measurement,
  sizes: readonly number[],
): Promise<void> {
  const settings = settingsOf(measurement, provider, link.host, sizes, true);
  const room = Math.max(...sizes);
  await between(link.oob, measurement.benchmark, settings, room, async (_, measure) => {
    for (const size of sizes) await succeeded(measure(size, settings.window));
  });
}

/** Opens a session between the two sides, and prepares the benchmark for sizes of up to `room` bytes. */
async function between(
  oob: OobSocket,
  benchmark: Benchmark,
  settings: Settings,
  room: number,
  run: (session: Session, measure: MeasureSize) => Promise<void>,
): Promise<void> {
  const session = await Session.open(settings, benchmark.needs(settings), { oob });
  try {
    await exchangeAddressesAgain(session);
    await run(session, await benchmark.prepare(session, room));
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
