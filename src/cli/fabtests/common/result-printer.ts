import { perfHeader, perfRow, perfYaml, perfYamlHeader } from '../../shared/perf-table.js';
import {
  type BenchmarkResult,
  type BenchmarkRow,
  RESULT_FORMAT,
  RESULT_VERSION,
  type ResultDevice,
} from '../../shared/result.js';
import { softwareInUse, warningsOf } from '../../shared/result-header.js';
import type { Session } from './session.js';
import type { Settings } from './settings.js';
import { statisticsTable } from './statistics-table.js';

/** What a result says of the test that it is of. */
export interface MeasuredTest {
  /** Has a window: several transfers are in flight at once. */
  readonly bandwidth: boolean;
  /** What is easily misread about its figures. */
  readonly caveat?: (settings: Settings) => string | undefined;
}

/** A row of another table, and what stands above the first. */
export interface TableRow {
  readonly header: string;
  readonly text: string;
}

/** Tells what is measured, as it is measured: fabtests' table or YAML, or JSON in the end. */
export class ResultPrinter {
  readonly #benchmark: MeasuredTest;
  readonly #settings: Settings;
  readonly #device: ResultDevice;
  readonly #startedAt = new Date().toISOString();
  readonly #rows: BenchmarkRow[] = [];
  readonly #write: (line: string) => void;

  constructor(
    benchmark: MeasuredTest,
    settings: Settings,
    device: ResultDevice,
    write: (line: string) => void = console.log,
  ) {
    this.#benchmark = benchmark;
    this.#settings = settings;
    this.#device = device;
    this.#write = write;
  }

  /** Tells a size; `own` is its row where the table is not that of fabtests' benchmarks. */
  row(row: BenchmarkRow, own?: TableRow): void {
    const { output, command, argv } = this.#settings;
    const first = this.#rows.push(row) === 1;
    if (output === 'table') {
      if (first) this.#write(own?.header ?? perfHeader());
      this.#write(own?.text ?? perfRow(row));
      for (const { name, megabytesPerSecond } of row.nics ?? []) {
        this.#write(`  ${name.padEnd(31)}${megabytesPerSecond.toFixed(2).padStart(12)}`);
      }
    } else if (output === 'yaml') {
      if (first) this.#write(perfYamlHeader(['libfabric', command, ...argv]));
      this.#write(perfYaml(row));
    }
  }

  /** What there is to say in the end. */
  end(trouble?: string): void {
    const { output, statistics } = this.#settings;
    const warnings = trouble === undefined ? this.#warnings() : [...this.#warnings(), trouble];
    if (output === 'json') {
      this.#write(JSON.stringify(this.#result(warnings), null, 2));
    } else if (statistics && output === 'table') {
      for (const line of statisticsTable(this.#rows, this.#device, warnings)) this.#write(line);
    }
  }

  #warnings(): string[] {
    const caveat = this.#benchmark.caveat?.(this.#settings);
    return [...warningsOf(this.#device), ...(caveat === undefined ? [] : [caveat])];
  }

  #result(warnings: string[]): BenchmarkResult {
    const settings = this.#settings;
    const { label, operation } = settings;
    return {
      format: RESULT_FORMAT,
      version: RESULT_VERSION,
      kind: 'benchmark',
      command: settings.command,
      arguments: settings.argv,
      startedAt: this.#startedAt,
      ...(label !== undefined && { label }),
      software: softwareInUse(),
      device: this.#device,
      role: settings.host === undefined ? 'server' : 'client',
      ...(operation !== undefined && { operation }),
      options: {
        ...(this.#benchmark.bandwidth && { window: settings.window }),
        verify: settings.verify,
        warmUp: settings.warmUp,
        deliveryComplete: settings.deliveryComplete,
      },
      rows: this.#rows,
      warnings,
    };
  }
}

/** Measures over a session, tells how that has ended, and closes the session. */
export async function printingResult(
  report: ResultPrinter,
  session: Session,
  measure: () => Promise<void>,
): Promise<void> {
  try {
    await measure();
  } catch (error) {
    const reason = (error as Error).message;
    report.end(`it has not come to its end: ${reason}`);
    await session.close(reason).catch(() => {});
    throw error;
  }
  report.end();
  await session.close();
}
