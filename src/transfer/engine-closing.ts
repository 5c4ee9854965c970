// How an engine closes: when the program asks for it, and when the process ends while the engine is open.

import { countAsHandled } from '../base/cancellation.js';
import { native } from '../contract/native.js';
import type { EngineParts } from './engine-parts.js';
import { engineClosed, errnoOf } from './errors.js';
import { FLUSH_TIMEOUT } from './peers.js';

const CLOSE_MESSAGE_TIMEOUT = 250; // ms

const open = new Set<EngineParts>();

/**
 * Closes the engine when the process ends while it is open: by itself, by process.exit(), or by an error. What its promises
 * have said is then still on the way to the peers, and would be lost with the process.
 */
export function closeAtExit(parts: EngineParts): void {
  if (open.size === 0) process.on('exit', closeAll);
  open.add(parts);
}

function closeAll(): void {
  const left = (from: number) => Math.max(0, Math.ceil(from - performance.now()));
  const until = performance.now() + FLUSH_TIMEOUT;
  for (const parts of open) endWork(parts);
  for (const { handle } of open) native.transferAwaitClosed(handle, left(until));
}

/** Ends all transfers and offers, and closes the rails. */
export async function closeParts(parts: EngineParts): Promise<void> {
  const { handle, events, mail, peers, rails } = parts;
  endWork(parts);
  await flushed(parts);
  const closings = rails.map(({ endpoint }) => endpoint.close());
  await Promise.allSettled(closings);
  open.delete(parts);
  if (open.size === 0) process.off('exit', closeAll);
  native.transferSilence(handle);
  events.endAll(errnoOf('FI_ECANCELED'), 'the transfer engine was closed');
  mail.close();
  parts.timeouts.close();
  parts.liveness.close();
  for (const memory of parts.memories) memory.device?.release();
  parts.memories.clear();
  for (const peer of peers.values()) peer.unmap();
}

function endWork(parts: EngineParts): void {
  const { events, mail, peers, pools } = parts;
  if (events.isClosing) return;
  events.isClosing = true;
  for (const offer of events.offers.values()) offer.engineClosed();
  parts.announcer.events.close();
  parts.notifications.close();
  parts.barriers.close();
  parts.streams.fail(engineClosed);
  mail.stop();
  for (const pool of pools) countAsHandled(pool.end('the transfer engine'));
  for (const peer of peers.values()) peer.tellTaken();
  native.transferClose(parts.handle);
  parts.isOpen = false;
}

// First the engine tells its peers how their transfers have ended, and waits until copies in flight have
// arrived: libfabric's tcp (1.17) crashes if an endpoint is closed in the middle of a write. Then the engine
// tells its peers that it closes. They send nothing more, because it would not answer. A peer that is gone
// does not delay this.
async function flushed({ flushes }: EngineParts): Promise<void> {
  if (!(await flushes.reaches(1, FLUSH_TIMEOUT))) return;
  await flushes.reaches(2, CLOSE_MESSAGE_TIMEOUT);
}
