import { totalmem } from 'node:os';
import { FabricError } from '../../../base/errors.js';
import type { Info } from '../../../contract/info-types.js';
import { findEntry, type Needs } from './open-endpoint.js';
import type { Session } from './session.js';
import type { Settings } from './settings.js';
import { allSizesOf } from './sizes.js';

/** Throws if no size can be measured here, before the sides connect. */
export function checkSizes(settings: Settings, needs: Needs): void {
  if (settings.sizes.kind === 'default' || settings.sizes.kind === 'all') return;
  const [least, most] = rangeOf(allSizesOf(settings.sizes));
  const memory = totalmem();
  if (most > memory) throw tooLong(most, `the memory of this machine has ${memory} bytes`);
  const entry = entryOf({ ...settings, sizes: { kind: 'default' } }, needs);
  if (entry === undefined) return; // opening the endpoint says why
  const { maxMsgSize } = entry.epAttr;
  if (least > maxMsgSize) {
    const { provName } = entry.fabricAttr;
    throw tooLong(least, `a transfer of ${provName} has at most ${maxMsgSize} bytes (maxMsgSize)`);
  }
}

/** Tells a peer of this package the sizes. If it measures others, both sides end: PeerConnections.failure. */
export function announceSizes({ connections }: Session, sizes: readonly number[]): void {
  connections.link?.announce([sizes.length, ...rangeOf(sizes)]);
}

/** Throws if the peer has announced other sizes meanwhile. */
export async function checkAgreement({ connections }: Session): Promise<void> {
  if (connections.link === undefined) return;
  await new Promise(setImmediate); // reads what has arrived
  const { disagreement } = connections.link;
  if (disagreement !== undefined) throw new Error(disagreement);
}

/** The reason of an error, with what to do if the peer measures other sizes, which fabtests do not announce. */
export function withSizes(cause: unknown, size: number): unknown {
  if (!(cause instanceof FabricError) || cause.code !== 'FI_ETRUNC') return cause;
  const reason = `a message of the peer is longer than the ${size} bytes that this side measures`;
  return new Error(`${reason}; give both the same -S`, { cause });
}

const tooLong = (size: number, why: string) => new Error(`-S: ${size} bytes are too many: ${why}`);

function rangeOf(sizes: readonly number[]): [least: number, most: number] {
  const byLength = sizes.toSorted((a, b) => a - b);
  return [byLength[0] ?? 0, byLength.at(-1) ?? 0];
}

function entryOf(settings: Settings, needs: Needs): Info | undefined {
  try {
    return findEntry(settings, needs);
  } catch (error) {
    if (error instanceof FabricError) return undefined;
    throw error;
  }
}
