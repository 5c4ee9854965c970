// What rank 0 prints at the end.
import { writeFileSync } from 'node:fs';
import { sizeText } from '../../shared/perf-table.js';
import {
  type MatrixRank,
  type MatrixResult,
  RESULT_FORMAT,
  RESULT_VERSION,
  type ResultDevice,
} from '../../shared/result.js';
import { deviceOf, softwareInUse, warningsOf } from '../../shared/result-header.js';
import { hostsOf } from '../../shared/slow-ranks.js';
import type { Figures } from './figures.js';
import { figureText, matrixLines } from './matrix-table.js';
import type { Mesh } from './mesh.js';
import type { Settings } from './settings.js';

/** The result of a measurement, as --json writes it. */
export function resultOf(mesh: Mesh, figures: Figures, startedAt: Date): MatrixResult {
  const { settings, ranks } = mesh;
  const device = deviceOf(mesh.endpoint);
  const { label, window, verify, iterations, seconds, concurrent, metric } = settings;
  return {
    format: RESULT_FORMAT,
    version: RESULT_VERSION,
    kind: 'matrix',
    command: settings.command,
    arguments: settings.argv,
    startedAt: startedAt.toISOString(),
    ...(label !== undefined && { label }),
    software: softwareInUse(),
    device,
    warnings: [...warningsOf(device), ...sharedHostNotes(device, ranks), ...warningsFor(settings)],
    ranks,
    size: settings.size,
    metric: metric === 'latency' ? 'us' : 'MB/s',
    values: figures.values,
    operation: settings.transfer,
    options: {
      window,
      verify,
      concurrent,
      ...(iterations === undefined ? { seconds } : { iterations }),
    },
    ...(figures.total !== undefined && { totalMegabytesPerSecond: figures.total }),
    ...(figures.nics && { nics: nicsOf(mesh, figures.nics) }),
  };
}

// By default efa uses shared memory within a host.
function sharedHostNotes({ provider }: ResultDevice, ranks: readonly MatrixRank[]): string[] {
  const own = process.env.FI_EFA_ENABLE_SHM_TRANSFER === '0';
  if (provider !== 'efa' || own || hostsOf(ranks) === ranks.length) return [];
  return [
    'efa uses shared memory between ranks of one host, unless FI_EFA_ENABLE_SHM_TRANSFER is 0',
  ];
}

function warningsFor({ metric, transfer }: Settings): string[] {
  if (metric === 'bandwidth' || transfer === 'send') return [];
  return [
    transfer === 'read'
      ? 'latency of a read is a whole round trip'
      : 'latency of a write is the time until its arrival is known: a whole round trip',
  ];
}

const nicsOf = (mesh: Mesh, values: readonly number[]) =>
  values.map((megabytesPerSecond, i) => ({ name: mesh.nicNames[i] ?? '', megabytesPerSecond }));

/** The result as text for a terminal. */
export function resultLines(result: MatrixResult, settings: Settings): string[] {
  const { nics = [], totalMegabytesPerSecond: total, warnings } = result;
  return [
    headline(result, settings),
    '',
    ...matrixLines(result),
    ...(total === undefined
      ? []
      : [`all at once: ${figureText(total)} MB/s, ${perRank(result, total)} MB/s a rank`]),
    ...(nics.length > 1 ? nicLines(nics, total === undefined) : []),
    ...warnings.map((warning) => `Note: ${warning}.`),
  ];
}

const perRank = ({ ranks }: MatrixResult, total: number) => figureText(total / ranks.length);

function headline({ device, ranks, size }: MatrixResult, settings: Settings): string {
  const { command, transfer, window, metric, concurrent, verify } = settings;
  const hosts = hostsOf(ranks);
  const who = `${ranks.length} ranks on ${hosts} host${hosts > 1 ? 's' : ''}`;
  const each =
    command === 'all-to-all'
      ? 'all to all at once'
      : concurrent
        ? 'disjoint pairs at once'
        : 'pair by pair';
  const what =
    metric === 'latency'
      ? transfer === 'send'
        ? 'latency of a message, half a round trip'
        : `latency of a ${transfer}`
      : `${transfer} bandwidth, ${window} in flight`;
  return `${device.provider}, ${who}, ${each}: ${what}, ${sizeText(size)} bytes, ${amountText(settings)}${verify ? ', verified' : ''}`;
}

/** How much each pair transfers: `'2 s'`, `'200 transfers each'`. */
export function amountText({ iterations, seconds }: Settings): string {
  return iterations === undefined ? `${seconds} s` : `${iterations} transfers each`;
}

function nicLines(nics: NonNullable<MatrixResult['nics']>, median: boolean): string[] {
  const what = median ? 'in the median pair' : 'of all ranks';
  return nics.map(
    ({ name, megabytesPerSecond }) => `NIC ${name}: ${figureText(megabytesPerSecond)} MB/s ${what}`,
  );
}

/** Writes the JSON to the destination of --json, and the table unless that is standard output. */
export function writeResult(
  result: MatrixResult,
  settings: Settings,
  json: true | string | undefined,
): void {
  const text = () => `${JSON.stringify(result, null, 2)}\n`;
  if (json === true) {
    process.stdout.write(text());
    return;
  }
  if (json !== undefined) writeFileSync(json, text());
  for (const line of resultLines(result, settings)) console.log(line);
}
