import type { BenchmarkRow } from '../shared/result.js';
import type { Measurement } from './run.js';

// fabtests print a table, or YAML with -m. Sizes are in units of 1024, counts in units of 1000; MB
// are 10^6 bytes (fabtests/common/shared.c: show_perf, show_perf_mr).

const FIELDS = ['size', 'iterations', 'total', 'seconds', 'MB/sec', 'usec/xfer'] as const;
type Fields = Partial<Record<(typeof FIELDS)[number], string | undefined>>;

/**
 * Parses the output of fabtests' benchmarks: each YAML document and each table is a measurement.
 */
export function parseFabtests(text: string): Measurement[] {
  const found: { command: string[]; rows: BenchmarkRow[]; rounded: boolean }[] = [];
  let columns: string[] = [];
  const lines = text.split(/\r?\n/);
  for (const [i, line] of lines.entries()) {
    const yaml = /^- *\{(.*)\}\s*$/.exec(line)?.[1];
    const words = line.trim().split(/\s+/);
    if (line.trim() === '---') {
      const command = lines[i + 1] ?? '';
      if (!/:\s*$/.test(command)) continue;
      const argv = command.replace(/:\s*$/, '').trim().split(/\s+/);
      found.push({ command: argv, rows: [], rounded: false });
      columns = [];
    } else if (words.includes('bytes') && words.includes('usec/xfer')) {
      found.push({ command: ['fabtests'], rows: [], rounded: true });
      columns = words;
    } else if (yaml !== undefined) {
      found.at(-1)?.rows.push(rowOf(yamlFields(yaml), i + 1));
    } else if (columns.length > 0 && words.length >= columns.length) {
      const cells = words.slice(-columns.length);
      found.at(-1)?.rows.push(rowOf(tableFields(columns, cells), i + 1));
    }
  }
  return found.map(({ command, rows, rounded }) => {
    const [program = 'fabtests', ...args] = command;
    return {
      command: program.slice(program.lastIndexOf('/') + 1),
      arguments: args,
      rows,
      warnings: warningsOf(program, args, rounded),
    };
  });
}

function yamlFields(text: string): Fields {
  const pairs = text.split(',').map((pair) => pair.split(/:(.*)/).map((part) => part.trim()));
  const { xfer_size, time, ...rest } = Object.fromEntries(pairs);
  return { ...rest, size: xfer_size, seconds: time };
}

// fi_pingpong prints #sent and #ack, the others print iters.
function tableFields(columns: string[], cells: string[]): Fields {
  const cell = Object.fromEntries(columns.map((column, i) => [column, cells[i]]));
  const { bytes, iters, '#sent': sent, time, ...rest } = cell;
  return { ...rest, size: bytes, iterations: iters ?? sent, seconds: time?.replace(/s$/, '') };
}

function rowOf(fields: Fields, line: number): BenchmarkRow {
  const amount = (name: keyof Fields, unit = 1000): number => {
    const [, number, suffix] = /^(\d+(?:\.\d+)?)([kmgb]?)$/.exec(fields[name] ?? '') ?? [];
    if (number === undefined) throw new Error(`line ${line}: ${name} is not a number`);
    const power = { '': 0, k: 1, m: 2, g: 3, b: 3 }[suffix ?? ''] ?? 0;
    return Number(number) * unit ** power;
  };
  const size = Math.round(amount('size', 1024));
  const iterations = amount('iterations');
  // Both have the same number of decimals, so the larger number is more precise.
  const [megabytes, microseconds] = [amount('MB/sec'), amount('usec/xfer')];
  const fromRate = size > 0 && megabytes > microseconds;
  // A ping-pong counts both directions, and the units round the total down.
  const perIteration = amount('total', 1024) / (size * iterations);
  return {
    size,
    iterations,
    transfersPerIteration: perIteration > 1.5 ? 2 : 1,
    seconds: amount('seconds'),
    megabytesPerSecond: fromRate || microseconds === 0 ? megabytes : size / microseconds,
    microsecondsPerTransfer: fromRate ? size / megabytes : microseconds,
  };
}

function warningsOf(program: string, args: readonly string[], rounded: boolean): string[] {
  const operation = args[args.indexOf('-o') + 1];
  const bothWays =
    /fi_rma_bw$/.test(program) && (!args.includes('-o') || /^(read|write)$/.test(operation ?? ''));
  return [
    ...(bothWays ? ['fi_rma_bw reads and writes in both directions at once.'] : []),
    ...(rounded
      ? ['Imported from a table, whose figures are rounded; fabtests print more with -m.']
      : []),
  ];
}
