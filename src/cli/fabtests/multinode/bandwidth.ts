// Bandwidth from one rank to others, over all NICs at once.

import { pump, Stalled } from '../common/flow.js';
import type { Lane, Mesh } from './mesh.js';
import { addReceive, addTransfer, type TransferFlow, transferFlow } from './transfers.js';

/** The transfers to one rank. */
export interface Transferred {
  /** Bytes over each NIC. */
  readonly bytes: readonly number[];
  /** Seconds until the last transfer completed. */
  readonly seconds: number;
}

/** How much to transfer. */
export interface Amount {
  /** Transfers to each rank over each NIC. */
  readonly iterations?: number;
  readonly seconds?: number;
}

/** Transfers to these ranks at once, or receives from them. Returns the figures of each rank. */
export async function transferAll(
  mesh: Mesh,
  ranks: readonly number[],
  amount: Amount,
  role: 'initiator' | 'receiver' = 'initiator',
): Promise<Transferred[]> {
  const { lanes, settings } = mesh;
  const add = role === 'receiver' ? addReceive : addTransfer;
  const carriers = ranks.map((rank) =>
    lanes.map((lane) =>
      transferFlow(lane, settings.window, amount.iterations, (batch) =>
        add(mesh, lane, batch, rank),
      ),
    ),
  );
  const start = await pumpAll(mesh, ranks, carriers.flat(), amount.seconds);
  const carried = carriers.map((ofRank) => figuresOf(ofRank, start, settings.size));
  for (const carrier of carriers.flat()) carrier.close();
  return carried;
}

async function pumpAll(
  mesh: Mesh,
  ranks: readonly number[],
  carriers: readonly TransferFlow[],
  seconds: number | undefined,
): Promise<number> {
  const { lanes, settings, yieldToEvents } = mesh;
  try {
    return await pump(
      lanes,
      carriers.map(({ flow }) => flow),
      {
        timeout: settings.timeout * 1000,
        yieldToEvents,
        ...(seconds !== undefined && { time: seconds * 1000 }),
      },
    );
  } catch (error) {
    if (!(error instanceof Stalled)) throw error;
    const waiting = new Set(error.flows.map((flow) => ranks[Math.floor(flow / lanes.length)]));
    throw new Error(`${error.message} with rank ${[...waiting].join(', ')}`);
  }
}

function figuresOf(carriers: readonly TransferFlow[], start: number, size: number): Transferred {
  const last = Math.max(...carriers.map(({ flow }) => flow.last));
  return {
    bytes: carriers.map(({ flow, transfers }) => flow.completed * transfers * size),
    seconds: (last - start) / 1000,
  };
}

/**
 * Transfers once more to each rank. The transfers complete when their data has arrived, so that the
 * rank can verify it.
 */
export async function deliver(mesh: Mesh, ranks: readonly number[]): Promise<void> {
  const carriers = ranks.flatMap((rank) =>
    mesh.lanes.map((lane: Lane) =>
      transferFlow(lane, 1, 1, (batch) => addTransfer(mesh, lane, batch, rank, true)),
    ),
  );
  await pumpAll(mesh, ranks, carriers, undefined);
  for (const carrier of carriers) carrier.close();
}

/** 10^6 bytes a second, over all NICs. */
export function megabytesPerSecond({ bytes, seconds }: Transferred): number {
  return bytes.reduce((sum, count) => sum + count, 0) / seconds / 1e6;
}
