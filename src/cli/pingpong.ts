import type { Batch } from '../endpoint/compose.js';
import { agreeOnIterations, meet, type Side, timed } from './pair.js';
import { checkPattern, fillPattern } from './pattern.js';
import type { Perf } from './perf-table.js';

const DEADLINE = 20_000;
const WARM_UP = 10;

/**
 * Latency: a message goes to and fro, each receive posted before the message is sent that it
 * answers. Each size is verified on both sides: every byte.
 */
export async function pingpong(
  side: Side,
  sizes: readonly number[],
  report: (perf: Perf) => void,
): Promise<void> {
  const largest = Math.max(...sizes);
  const { domain } = side.ep;
  await using out = await domain.allocate(largest, ['FI_SEND']);
  await using into = await domain.allocate(largest, ['FI_RECV']);
  for (const [seed, size] of sizes.entries()) {
    const sending = out.slice(0, size);
    const receiving = into.slice(0, size);
    fillPattern(sending.bytes, seed);
    const batch = (fill: (batch: Batch<'FI_EP_RDM', 'FI_MSG'>) => void) => {
      const made = side.ep.batch();
      fill(made);
      return made;
    };
    using exchange = batch((b) => {
      b.recv(receiving);
      b.send(sending, side.peer);
    });
    using receive = batch((b) => b.recv(receiving));
    using send = batch((b) => b.send(sending, side.peer));

    const run = (iterations: number) => {
      if (side.role === 'client') {
        for (let i = 0; i < iterations; i++) exchange.run(DEADLINE);
        return;
      }
      receive.run(DEADLINE);
      for (let i = 1; i < iterations; i++) exchange.run(DEADLINE);
      send.run(DEADLINE);
    };
    await meet(side);
    receiving.bytes.fill(0);
    const warmUp = timed(() => run(WARM_UP));
    checkPattern(receiving.bytes, seed, `message of ${size} bytes`);
    const iterations = await agreeOnIterations(side, warmUp / WARM_UP);
    const seconds = timed(() => run(iterations));
    checkPattern(receiving.bytes, seed, `message of ${size} bytes`);
    if (side.role === 'client') report({ size, iterations, seconds, transfersPerIteration: 2 });
  }
  await meet(side);
}
