// The table of fabtests' benchmarks: their columns, units and rounding.

/** One measurement. */
export interface Perf {
  /** Bytes of a transfer. */
  readonly size: number;
  readonly iterations: number;
  readonly seconds: number;
  /** Transfers of an iteration: 2 for a ping-pong, so that usec/xfer is half a round trip. */
  readonly transfersPerIteration: number;
}

/** `65536` reads `'64k'`, `1536` `'1.5k'`: units of 1024, a fraction only below 10. */
export function sizeText(bytes: number): string {
  const power = bytes >= 2 ** 30 ? 30 : bytes >= 2 ** 20 ? 20 : bytes >= 2 ** 10 ? 10 : 0;
  const base = 2 ** power;
  const whole = Math.floor(bytes / base);
  const fraction = whole < 10 ? Math.floor(((bytes % base) * 10) / base) : 0;
  return `${whole}${fraction > 0 ? `.${fraction}` : ''}${{ 0: '', 10: 'k', 20: 'm', 30: 'g' }[power]}`;
}

/** `20000` reads `'20k'`: whole units of 1000. */
export function countText(count: number): string {
  const power = count >= 1e9 ? 9 : count >= 1e6 ? 6 : count >= 1e3 ? 3 : 0;
  return `${Math.floor(count / 10 ** power)}${{ 0: '', 3: 'k', 6: 'm', 9: 'b' }[power]}`;
}

/** The table header. */
export function perfHeader(): string {
  return header('iters'.padEnd(8));
}

const header = (counts: string) =>
  [
    'bytes'.padEnd(8),
    counts,
    'total'.padEnd(8),
    'time'.padStart(8),
    ' ',
    'MB/sec'.padStart(10),
    'usec/xfer'.padStart(13),
    'Mxfers/sec'.padStart(13),
  ].join('');

// The precision of fabtests: whole microseconds, and single precision for the time of a transfer.
function figuresOf({ size, iterations, seconds, transfersPerIteration }: Perf) {
  const microseconds = Math.round(seconds * 1e6);
  const bytes = size * iterations * transfersPerIteration;
  const perIteration = Math.fround(Math.fround(microseconds) / iterations);
  const perTransfer = Math.fround(perIteration / transfersPerIteration);
  return { bytes, seconds: microseconds / 1e6, rate: bytes / microseconds, perTransfer };
}

/** One row. MB are 10^6 bytes. */
export function perfRow(perf: Perf): string {
  const { bytes, seconds, rate, perTransfer } = figuresOf(perf);
  return [
    sizeText(perf.size).padEnd(8),
    countText(perf.iterations).padEnd(8),
    sizeText(bytes).padEnd(8),
    `${seconds.toFixed(2).padStart(8)}s`,
    rate.toFixed(2).padStart(10),
    perTransfer.toFixed(2).padStart(11),
    (1 / perTransfer).toFixed(2).padStart(11),
  ].join('');
}

/** The YAML key of the rows: the command line. */
export function perfYamlHeader(argv: readonly string[]): string {
  return `---\n${argv.map((argument) => `${argument} `).join('')}:`;
}

/** One row in YAML: `-m`. */
export function perfYaml(perf: Perf): string {
  const { bytes, seconds, rate, perTransfer } = figuresOf(perf);
  const fields = [
    `xfer_size: ${perf.size}`,
    `iterations: ${perf.iterations}`,
    `total: ${bytes}`,
    `time: ${seconds.toFixed(6)}`,
    `MB/sec: ${rate.toFixed(6)}`,
    `usec/xfer: ${perTransfer.toFixed(6)}`,
    `Mxfers/sec: ${(1 / perTransfer).toFixed(6)}`,
  ];
  return `- { ${fields.join(', ')} }`;
}

/** The table header of fi_pingpong(1). */
export function pingpongHeader(): string {
  return header('#sent'.padEnd(8) + '#ack'.padEnd(9));
}

/** A row of fi_pingpong(1), with the number of messages that the client received. */
export function pingpongRow(perf: Perf, acknowledged: number): string {
  const { iterations } = perf;
  const sign = iterations === acknowledged ? '=' : iterations < acknowledged ? '-' : '+';
  const count = sign === '=' ? acknowledged : Math.abs(iterations - acknowledged);
  const row = perfRow(perf);
  return row.slice(0, 16) + sign + countText(count).padEnd(8) + row.slice(16);
}
