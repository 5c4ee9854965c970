import type { Counters } from '../../verbs/index.js';

/** What a port does in a second. */
export interface Rates {
  readonly receivedBits: number;
  readonly sentBits: number;
  readonly receivedPackets: number;
  readonly sentPackets: number;
  readonly retransmits: number;
  readonly drops: number;
}

// A sum of counters, each with the number of units it counts. The driver of EFA has names of its own;
// InfiniBand's data counters count words of four bytes.
type Sum = Readonly<Record<string, number>>;

const SUMS: Readonly<Record<keyof Rates, Sum>> = {
  receivedBits: { rx_bytes: 8, port_rcv_data: 32 },
  sentBits: { tx_bytes: 8, port_xmit_data: 32 },
  receivedPackets: { rx_pkts: 1, port_rcv_packets: 1 },
  sentPackets: { tx_pkts: 1, port_xmit_packets: 1 },
  retransmits: {
    retrans_pkts: 1,
    packet_seq_err: 1,
    local_ack_timeout_err: 1,
    roce_adp_retrans: 1,
    to_retransmits: 1,
  },
  drops: { rx_drops: 1, port_xmit_discards: 1, port_rcv_errors: 1, out_of_buffer: 1 },
};

/** From counters per second. */
export function ratesOf(perSecond: Counters<number>): Rates {
  const sum = (parts: Sum) =>
    Object.entries(parts).reduce((all, [name, units]) => all + (perSecond[name] ?? 0) * units, 0);
  return {
    receivedBits: sum(SUMS.receivedBits),
    sentBits: sum(SUMS.sentBits),
    receivedPackets: sum(SUMS.receivedPackets),
    sentPackets: sum(SUMS.sentPackets),
    retransmits: sum(SUMS.retransmits),
    drops: sum(SUMS.drops),
  };
}
