import { perfHeader, perfRow, perfYaml, perfYamlHeader } from '../../shared/perf-table.js';
import {
  type BenchmarkResult,
  type BenchmarkRow,
  RESULT_FORMAT,
  RESULT_VERSION,
  type ResultDevice,
} from '../../shared/result.js';
import { softwareInUse, warningsOf } from '../../shared/result-header.js';
import { memoryText } from './device-memory.js';
import type { Session } from './session.js';
import type { Settings } from './settings.js';
import { statisticsTable } from './statistics-table.js';

/** The properties of a test that its result contains. */
export interface MeasuredTest {
  /** Whether the test has a window: several transfers in flight at once. */
  readonly bandwidth: boolean;
  /** A warning against misreading its figures. */
  readonly caveat?: (settings: Settings) => string | undefined;
}

/** A row of a table in another format, and the header of that table. */
export interface TableRow {
  readonly header: string;
  readonly text: string;
}

/** Prints fabtests' table or YAML row by row, or JSON at the end. */
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

  /** Prints the row of a size. `own` replaces the row of fabtests' benchmarks. */
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

  /** Prints the lines that follow the rows. */
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
    const memory = memoryText(this.#settings);
    return [
      ...warningsOf(this.#device),
      ...(caveat === undefined ? [] : [caveat]),
      ...(memory === undefined ? [] : [`the memory is of ${memory}`]),
    ];
  }

  #result(warnings: string[]): BenchmarkResult {
    const settings = this.#settings;
    const { label, operation } = settings;
    const memory = memoryText(settings);
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
        ...(memory !== undefined && { memory }),
      },
      rows: this.#rows,
      warnings,
    };
  }
}

/** Measures over a session, prints the result or the failure, and closes the session. */
export async function printingResult(
  report: ResultPrinter,
  session: Session,
  measure: () => Promise<void>,
): Promise<void> {
  try {
    await measure();
  } catch (error) {
    const cause = await session.causeOf(error);
    const reason = (cause as Error).message;
    report.end(`the test did not finish: ${reason}`);
    await session.close(reason).catch(() => {});
    throw cause;
  }
  report.end();
  await session.close();
}
