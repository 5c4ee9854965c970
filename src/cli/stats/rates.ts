import type { Counters } from '../../verbs/index.js';
import { trafficOf } from '../shared/traffic.js';

/** What a port does in a second. */
export interface Rates {
  readonly receivedBits: number;
  readonly sentBits: number;
  readonly receivedPackets: number;
  readonly sentPackets: number;
  readonly retransmits: number;
  readonly drops: number;
}

/** From counters per second. */
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
