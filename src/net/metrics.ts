import { netSessions } from '../diagnostics/net-state.js';
import { type Metrics, metricsOf } from '../diagnostics/prometheus.js';

const WAITS = ['reader', 'window', 'credits', 'nic'] as const;

/**
 * The figures of all open sessions of this thread in the text format of Prometheus, for the program's own `/metrics`.
 * The label `session` is the number of the session.
 */
export async function netMetrics(): Promise<Metrics> {
  const sessions = [...netSessions].map((session) => session.state());
  return metricsOf((put) => {
    for (const { number, path, nics, sockets, socketCount, unacknowledged } of sessions) {
      const session = String(number);
      put('net_session_info', 'A session; always 1.', { session, path }, 1);
      put('net_sockets', 'Open sockets.', { session }, socketCount);
      put(
        'net_unacknowledged_packets',
        'Packets that the peer has not acknowledged.',
        { session },
        unacknowledged,
      );
      for (const { nic, state } of nics)
        put(
          'net_nic_up',
          'Whether packets travel over the NIC.',
          { session, nic },
          +(state === 'up'),
        );
      for (const waits of WAITS) {
        const count = sockets.filter(({ waitsFor }) => waitsFor === waits).length;
        put(
          'net_waiting_sockets',
          'Sockets that wait, of the first 1000.',
          { session, for: waits },
          count,
        );
      }
    }
  });
}
