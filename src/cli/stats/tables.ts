import type { CounterSample, Counters } from '../../verbs/index.js';
import { trafficOf } from '../shared/traffic.js';

/** A port's counters, by name, as text. */
export function totalsText(device: string, port: number, values: Counters): string {
  const entries = Object.entries(values);
  if (entries.length === 0) return `${device} port ${port}: no counters\n`;
  const width = Math.max(...entries.map(([name]) => name.length));
  const digits = Math.max(...entries.map(([, value]) => value.toString().length));
  const lines = entries.map(
    ([name, value]) => `  ${name.padEnd(width)}  ${value.toString().padStart(digits)}\n`,
  );
  return `${device} port ${port}\n${lines.join('')}`;
}

const TITLES = ['rx Gbit/s', 'tx Gbit/s', 'rx pkt/s', 'tx pkt/s', 'retrans/s', 'drops/s'] as const;
const WIDTH = 11;

/** The table header. `width` is the width of the names. */
export function ratesHeader(width: number): string {
  return 'device/port'.padEnd(width) + TITLES.map((title) => title.padStart(WIDTH)).join('');
}

export function ratesRow(name: string, width: number, { perSecond }: CounterSample): string {
  const rates = ratesOf(perSecond);
  const figures = [
    (rates.receivedBits / 1e9).toFixed(3),
    (rates.sentBits / 1e9).toFixed(3),
    ...[rates.receivedPackets, rates.sentPackets, rates.retransmits, rates.drops].map((rate) =>
      rate.toFixed(0),
    ),
  ];
  return name.padEnd(width) + figures.map((figure) => figure.padStart(WIDTH)).join('');
}

/** A port's rates per second. */
export interface Rates {
  readonly receivedBits: number;
  readonly sentBits: number;
  readonly receivedPackets: number;
  readonly sentPackets: number;
  readonly retransmits: number;
  readonly drops: number;
}

/** The rates from counters per second. */
export function ratesOf(perSecond: Counters<number>): Rates {
  const traffic = trafficOf(perSecond);
  return {
    receivedBits: traffic.receivedBytes * 8,
    sentBits: traffic.sentBytes * 8,
    receivedPackets: traffic.receivedPackets,
    sentPackets: traffic.sentPackets,
    retransmits: traffic.retransmits,
    drops: traffic.drops,
  };
}
