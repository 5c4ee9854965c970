import { type Metrics, metricsOf, type Put } from '../diagnostics/prometheus.js';
import type { MemoryPoolState, RailState, TransferStats } from '../diagnostics/transfer-state.js';
import { transferEngines } from '../diagnostics/transfer-state.js';

/**
 * The figures of all open transfer engines of this thread in the text format of Prometheus, for the
 * program's own `/metrics`. The label `engine` numbers the engines in the order in which they were opened.
 */
export async function transferMetrics(): Promise<Metrics> {
  const figures = [...transferEngines].map((engine) => ({
    number: String(engine.number),
    rails: engine.rails,
    stats: engine.stats(),
    pools: engine.pools,
  }));
  return metricsOf((put) => {
    for (const { number, rails, stats, pools } of figures) {
      for (const rail of rails) putRail(put, number, rail);
      putStats(put, number, stats);
      for (const pool of pools) putPool(put, number, pool);
    }
  });
}

const RAIL_COUNTERS = {
  bytesTransferred: 'Bytes that the rail has sent or read.',
  slices: 'Slices that the rail has sent or read.',
  failures: 'Slices that failed on the rail.',
  stalls: 'Times that slices moved to other rails because the rail made no progress.',
  retries: 'Slices that the rail gave to other rails.',
  messages: 'Messages between engines that have arrived on the rail.',
  arrivals: 'Remote writes that have arrived on the rail.',
} as const;

function putRail(put: Put, engine: string, rail: RailState): void {
  const labels = { engine, rail: String(rail.index), nic: rail.nic };
  const { provider, path, numaNode } = rail;
  put(
    'transfer_rail_info',
    'A rail of a transfer engine; always 1.',
    { ...labels, provider, path, emulated: String(rail.emulated), numa_node: `${numaNode ?? ''}` },
    1,
  );
  put(
    'transfer_rail_up',
    'Whether the rail is up: its slices arrive.',
    labels,
    +(rail.state === 'up'),
  );
  for (const [name, help] of Object.entries(RAIL_COUNTERS)) {
    const counter = name === 'bytesTransferred' ? 'bytes' : name;
    put(`transfer_rail_${counter}_total`, help, labels, rail[name as keyof typeof RAIL_COUNTERS]);
  }
}

function putStats(
  put: Put,
  engine: string,
  { transfers, offers, notifications }: TransferStats,
): void {
  const ends = 'Transfers that have ended.';
  put('transfers_running', 'Transfers in flight.', { engine }, transfers.running);
  put('transfers_waiting', 'Transfers that wait for their turn.', { engine }, transfers.waiting);
  put('transfers_total', ends, { engine, outcome: 'done' }, transfers.done);
  put('transfers_total', ends, { engine, outcome: 'failed' }, transfers.failed);
  const seconds = 'The sum of the durations of completed transfers.';
  put('transfers_seconds_total', seconds, { engine }, transfers.duration / 1000);
  put(
    'transfers_bytes_total',
    'The bytes of completed transfers.',
    { engine },
    transfers.bytesTransferred,
  );
  put('transfer_offers_open', 'Offers that are not released.', { engine }, offers.open);
  put('transfer_offers_arrived_total', 'Arrivals at offers.', { engine }, offers.arrived);
  const unarrived = 'Offers that were released without an arrival.';
  put('transfer_offers_failed_total', unarrived, { engine }, offers.failed);
  put('transfer_offers_released_total', 'Offers that were released.', { engine }, offers.released);
  put(
    'transfer_notifications_sent_total',
    'Messages sent with notify().',
    { engine },
    notifications.sent,
  );
  put(
    'transfer_notifications_received_total',
    'Messages received.',
    { engine },
    notifications.received,
  );
  put(
    'transfer_notifications_unread',
    'Messages that are not read yet.',
    { engine },
    notifications.unread,
  );
  const dropped = 'Messages dropped because too many were unread.';
  put('transfer_notifications_dropped_total', dropped, { engine }, notifications.dropped);
}

const POOL_METRICS = {
  buffers: ['buffers', 'Buffers of the pool.'],
  byteLength: ['bytes', 'Bytes of the buffers of the pool.'],
  leased: ['leased', 'Buffers of the pool that are in use.'],
  waiting: ['waiting', 'Calls of acquire() that wait for a buffer.'],
  acquired: ['acquired_total', 'Calls of acquire() that have got a buffer.'],
  waits: ['waits_total', 'Calls of acquire() that had to wait for a buffer.'],
} as const;

/** Pools of an engine with the same name count together. */
function putPool(put: Put, engine: string, pool: MemoryPoolState): void {
  for (const [field, [name, help]] of Object.entries(POOL_METRICS)) {
    const labels = { engine, pool: pool.name };
    put(`transfer_pool_${name}`, help, labels, pool[field as keyof typeof POOL_METRICS]);
  }
}
