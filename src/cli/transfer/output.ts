import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { TransferEngine } from '../../transfer/transfer-engine.js';
import {
  type BenchmarkResult,
  type BenchmarkRow,
  RESULT_FORMAT,
  RESULT_VERSION,
  type ResultDevice,
} from '../shared/result.js';
import { softwareInUse, warningsOf } from '../shared/result-header.js';
import { deviceOfEngine } from './engine.js';
import type { Flags } from './options.js';
import type { Plan } from './plan.js';
import type { RunListener } from './run.js';
import { statisticsRows, tableHeader, tableRow } from './table.js';

type OutputFlags = Pick<Flags, 'json' | 'stats' | 'report' | 'label'>;

/** Prints the rows as a table, or everything as JSON at the end; writes the page of --report. */
export class Output implements RunListener {
  readonly #flags: OutputFlags;
  readonly #argv: readonly string[];
  readonly #role: BenchmarkResult['role'];
  readonly #startedAt = new Date().toISOString();
  readonly #rows: BenchmarkRow[] = [];
  #opened: { readonly device: ResultDevice; readonly plan: Plan } | undefined;

  constructor(flags: OutputFlags, argv: readonly string[], role: BenchmarkResult['role']) {
    this.#flags = flags;
    this.#argv = argv;
    this.#role = role;
  }

  begin(engine: TransferEngine, plan: Plan): void {
    this.#opened = { device: deviceOfEngine(engine), plan };
  }

  row(row: BenchmarkRow): void {
    const isFirst = this.#rows.push(row) === 1;
    if (this.#flags.json) return;
    if (isFirst) console.log(tableHeader());
    console.log(tableRow(row));
    if (!this.#flags.stats) return;
    for (const line of statisticsRows(row, this.#role)) console.log(line);
  }

  /** Prints the lines that follow the rows. `trouble` is why the measurement did not finish. */
  async end(trouble?: string): Promise<void> {
    const result = this.#result(trouble);
    const { json, stats, report } = this.#flags;
    if (result === undefined) return;
    if (json) console.log(JSON.stringify(result, null, 2));
    else if (stats) for (const warning of result.warnings) console.log(`Note: ${warning}.`);
    if (report === undefined) return;
    // Imported here, because the chart libraries would slow down every other run.
    const { reportPage } = await import('../report/page.js');
    const inputs = [{ kind: 'benchmark', measured: result, file: basename(report) }] as const;
    writeFileSync(report, reportPage('libfabric transfer', inputs, new Date()));
    if (!json) console.log(report);
  }

  #result(trouble: string | undefined): BenchmarkResult | undefined {
    if (this.#opened === undefined) return undefined;
    const { device, plan } = this.#opened;
    const { operation, sizes: _, iterations: __, ...options } = plan;
    const { label } = this.#flags;
    return {
      format: RESULT_FORMAT,
      version: RESULT_VERSION,
      kind: 'benchmark',
      command: 'transfer',
      arguments: this.#argv,
      startedAt: this.#startedAt,
      ...(label !== undefined && { label }),
      software: softwareInUse(),
      device,
      role: this.#role,
      operation,
      options,
      rows: this.#rows,
      warnings: [
        ...warningsOf(device),
        ...(trouble === undefined ? [] : [`the measurement did not finish: ${trouble}`]),
      ],
    };
  }
}
