import { clearScreenDown, moveCursor } from 'node:readline';
import { samples } from '../../base/samples.js';
import { type CounterSample, sampler } from '../../verbs/counters.js';
import type { Source } from './sources.js';
import { ratesHeader, ratesRow } from './tables.js';

interface Taken {
  readonly source: Source;
  readonly sample: CounterSample;
}

export interface WatchSettings {
  /** Milliseconds. */
  readonly interval: number;
  /** The number of samples. */
  readonly count: number;
  readonly json: boolean;
}

/** Prints the rates of all ports repeatedly, until the signal aborts. */
export async function watch(
  all: readonly Source[],
  { interval, count, json }: WatchSettings,
  signal: AbortSignal,
): Promise<void> {
  const takers = all.map((source) => ({ source, take: sampler(source.meter) }));
  const print = json ? printJson : process.stdout.isTTY ? livePrinter(all) : linePrinter(all);
  let left = count;
  const takeAll = () => takers.map(({ source, take }) => ({ source, sample: take() }));
  try {
    for await (const taken of samples(takeAll, interval, { signal }).reader) {
      print(taken);
      if (--left === 0) return;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function printJson(taken: readonly Taken[]): void {
  for (const { source, sample } of taken) {
    const line = { device: source.device, port: source.port, ...sample };
    const text = JSON.stringify(line, (_, value) =>
      typeof value === 'bigint' ? value.toString() : value,
    );
    process.stdout.write(`${text}\n`);
  }
}

const nameOf = ({ device, port }: Source) => `${device}/${port}`;

const widthOf = (all: readonly Source[]) =>
  Math.max('device/port'.length, ...all.map((source) => nameOf(source).length));

/** Prints a table that is redrawn in place. */
function livePrinter(all: readonly Source[]) {
  const width = widthOf(all);
  let drawn = false;
  return (taken: readonly Taken[]) => {
    const rows = taken.map(({ source, sample }) => ratesRow(nameOf(source), width, sample));
    const lines = [timeOf(taken), ratesHeader(width), ...rows];
    if (drawn) {
      moveCursor(process.stdout, 0, -lines.length);
      clearScreenDown(process.stdout);
    }
    drawn = true;
    process.stdout.write(`${lines.join('\n')}\n`);
  };
}

/** Prints a line for each port and sample, for files and pipes. */
function linePrinter(all: readonly Source[]) {
  const width = widthOf(all);
  process.stdout.write(`${'time'.padEnd(24)}  ${ratesHeader(width)}\n`);
  return (taken: readonly Taken[]) => {
    for (const { source, sample } of taken) {
      const row = ratesRow(nameOf(source), width, sample);
      process.stdout.write(`${sample.at.toISOString()}  ${row}\n`);
    }
  };
}

const timeOf = (taken: readonly Taken[]) => taken[0]?.sample.at.toLocaleTimeString() ?? '';
