/** The traffic of a port, according to its counters. */
export interface Traffic {
  readonly sentBytes: number;
  readonly sentPackets: number;
  readonly receivedBytes: number;
  readonly receivedPackets: number;
  readonly retransmittedBytes: number;
  /** Retransmitted packets, or the causes of retransmissions with other vendors' devices. */
  readonly retransmits: number;
  /** Operations that were not acknowledged in time. */
  readonly timeouts: number;
  readonly drops: number;
  /** Peers that did not answer. */
  readonly unresponsive: number;
  /** Connections to peers that were impaired. */
  readonly impaired: number;
}

// A sum of counters, each with its unit. The EFA driver uses its own names. InfiniBand's data
// counters count words of four bytes.
type Sum = Readonly<Record<string, number>>;

const SUMS: Readonly<Record<keyof Traffic, Sum>> = {
  sentBytes: { tx_bytes: 1, port_xmit_data: 4 },
  sentPackets: { tx_pkts: 1, port_xmit_packets: 1 },
  receivedBytes: { rx_bytes: 1, port_rcv_data: 4 },
  receivedPackets: { rx_pkts: 1, port_rcv_packets: 1 },
  retransmittedBytes: { retrans_bytes: 1 },
  retransmits: {
    retrans_pkts: 1,
    packet_seq_err: 1,
    local_ack_timeout_err: 1,
    roce_adp_retrans: 1,
    to_retransmits: 1,
  },
  timeouts: { retrans_timeout_events: 1, local_ack_timeout_err: 1 },
  drops: { rx_drops: 1, port_xmit_discards: 1, port_rcv_errors: 1, out_of_buffer: 1 },
  unresponsive: { unresponsive_remote_events: 1 },
  impaired: { impaired_remote_conn_events: 1 },
};

/** The traffic from counters by name: their increase, or their increase per second. */
export function trafficOf(counters: Readonly<Record<string, number>>): Traffic {
  const sum = (parts: Sum) =>
    Object.entries(parts).reduce((all, [name, units]) => all + (counters[name] ?? 0) * units, 0);
  const entries = Object.entries(SUMS).map(([figure, parts]) => [figure, sum(parts)]);
  return Object.fromEntries(entries) as Traffic;
}
