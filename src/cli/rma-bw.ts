import type { Batch } from '../endpoint/compose.js';
import { exchange, meet, type Side, timed } from './pair.js';
import { checkPattern, fillPattern } from './pattern.js';
import type { Perf } from './perf-table.js';

/** Operations in flight at once, as in fabtests' bandwidth tests. */
export const WINDOW = 64;

// About a fifth of a second a size, and at most the 20,000 writes of fabtests.
const TARGET_SECONDS = 0.2;
const MOST_WINDOWS = Math.ceil(20_000 / WINDOW);
const DEADLINE = 20_000;

/**
 * Bandwidth of RMA writes from the client to the server, a window of them in flight. Each size is
 * verified on the server: every byte.
 */
export async function rmaWriteBandwidth(
  side: Side,
  sizes: readonly number[],
  report: (perf: Perf) => void,
): Promise<void> {
  const largest = Math.max(...sizes);
  const { domain } = side.ep;
  await using local = await domain.allocate(largest, ['FI_READ', 'FI_WRITE']);
  await using target = await domain.allocate(largest, ['FI_REMOTE_WRITE']);
  const descriptor = (await exchange(side.channel, target.descriptor())) as Uint8Array;
  using remote = domain.remote(descriptor);

  for (const [seed, size] of sizes.entries()) {
    await meet(side);
    if (side.role === 'client') {
      fillPattern(local.bytes.subarray(0, size), seed);
      using batch = side.ep.batch();
      for (let i = 0; i < WINDOW; i++) batch.write(local.slice(0, size), side.peer, remote);
      batch.run(DEADLINE); // the first use of memory and connection
      const once = timed(() => runWindows(batch, 1));
      const windows = Math.min(MOST_WINDOWS, Math.max(1, Math.ceil(TARGET_SECONDS / once)));
      const seconds = timed(() => runWindows(batch, windows));
      finished(side);
      report({ size, iterations: windows * WINDOW, seconds, transfersPerIteration: 1 });
    } else {
      awaitFinished(side);
      checkPattern(target.bytes.subarray(0, size), seed, `RMA write of ${size} bytes`);
    }
  }
  await meet(side);
}

function runWindows(batch: Batch<'FI_EP_RDM', 'FI_RMA'>, windows: number): void {
  for (let i = 0; i < windows; i++) batch.run(DEADLINE);
}

// A message tells the server that the writes are done; its engine turns until then.
function finished(side: Side): void {
  using batch = side.ep.batch();
  batch.send(Buffer.from('done'), side.peer);
  batch.run(DEADLINE);
}

function awaitFinished(side: Side): void {
  using batch = side.ep.batch();
  batch.recv(new Uint8Array(4));
  batch.run(DEADLINE);
}
