import type { TransferEngineState } from '../diagnostics/transfer-state.js';
import type { TransferMemory } from './memory.js';
import type { NativeEvents } from './native-events.js';
import type { RemoteEngine } from './remote-engine.js';
import type { TransferEngine } from './transfer-engine.js';

const MAX_LISTED = 1000; // transfers, and offers

/** The open objects of an engine and its transfers in flight, for dumpState(). */
export function stateOf(
  engine: TransferEngine,
  peers: Iterable<RemoteEngine>,
  memories: ReadonlySet<TransferMemory>,
  { transfers, offers }: NativeEvents,
): TransferEngineState {
  return {
    id: engine.id,
    rails: engine.rails,
    peers: Array.from(peers, ({ id, rails, state }) => ({ id, rails, state })),
    memory: {
      count: memories.size,
      byteLength: [...memories].reduce((sum, { length }) => sum + length, 0),
    },
    pools: engine.pools,
    stats: engine.stats(),
    transfers: Array.from(firstOf(transfers.values()), (transfer) => transfer.state()),
    offers: Array.from(firstOf(offers.values()), (offer) => offer.state()),
  };
}

function* firstOf<T>(values: Iterable<T>): Generator<T> {
  let count = 0;
  for (const value of values) {
    if (++count > MAX_LISTED) return;
    yield value;
  }
}
