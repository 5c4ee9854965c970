// The prepared batches of a measurement.
import type { RegionSlice } from '../../../memory/memory-region.js';
import { Flow } from '../common/flow.js';
import type { Nic } from '../common/nics.js';
import type { Lane, Mesh } from './mesh.js';

type TestBatch = ReturnType<Nic['ep']['batch']>;

const DELIVERED = { flags: ['FI_DELIVERY_COMPLETE'] } as const;

/** Adds one transfer that this rank initiates. */
export function addTransfer(
  mesh: Mesh,
  lane: Lane,
  batch: TestBatch,
  to: number,
  delivered = false,
) {
  const { transfer, size } = mesh.settings;
  const peer = lane.peers[to] as NonNullable<Lane['peers'][number]>;
  const remote = lane.remotes[to] as NonNullable<Lane['remotes'][number]>;
  const out = lane.out.slice(0, size);
  if (transfer === 'send') batch.send(out, peer);
  else if (transfer === 'read') batch.read(slotSlice(mesh, lane, to), peer, remote);
  else {
    const offset = mesh.slotOf(mesh.rank);
    batch.write(out, peer, remote, delivered ? { offset, ...DELIVERED } : { offset });
  }
}

function slotSlice(mesh: Mesh, lane: Lane, from: number): RegionSlice {
  return lane.into.slice(mesh.slotOf(from), mesh.slotOf(from) + mesh.settings.size);
}

/** A window is kept full by two halves that alternate. A window of 1 has one half. */
interface Halves {
  /** Transfers of a batch. */
  readonly count: number;
  readonly depth: 1 | 2;
}

function halvesOf(window: number): Halves {
  return window === 1 ? { count: 1, depth: 1 } : { count: Math.ceil(window / 2), depth: 2 };
}

/** A flow and the size of its submissions. */
export interface TransferFlow {
  readonly flow: Flow;
  /** Transfers in each submission. */
  readonly transfers: number;
  close(): void;
}

/**
 * A flow of transfers to or from another rank.
 *
 * @param iterations the total number of transfers, rounded up to whole halves of a window. Unlimited if
 * undefined.
 * @param add adds one transfer to a batch.
 */
export function transferFlow(
  lane: Lane,
  window: number,
  iterations: number | undefined,
  add: (batch: TestBatch) => void,
): TransferFlow {
  const { count, depth } = halvesOf(Math.min(window, iterations ?? window));
  const batch = lane.ep.batch();
  for (let i = 0; i < count; i++) add(batch);
  const total = iterations === undefined ? undefined : Math.ceil(iterations / count);
  const flow = new Flow({ batch, depth, ...(total !== undefined && { total }) });
  return { flow, transfers: count, close: () => batch.close() };
}

/** Adds the receive of a message to a batch. */
export function addReceive(mesh: Mesh, lane: Lane, batch: TestBatch, from: number): void {
  batch.recv(slotSlice(mesh, lane, from));
}
