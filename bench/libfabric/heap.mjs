// Measures the growth of the JavaScript heap over many sends, in KiB after garbage collection. The
// client reports it. A tenth of the operations serves as warm-up. Needs node --expose-gc.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { endExchange, exchange, repeat, reportValue } from '../side.mjs';
import { messageTurns, openMessagePair, serveWindows, untagged } from './messages.mjs';
import { side } from './runner.mjs';

async function collectGarbage() {
  for (let i = 0; i < 4; i++) {
    globalThis.gc();
    await nextTurn();
  }
  return process.memoryUsage();
}

const pair = await openMessagePair();
const [size] = side.sizes;
const turns = messageTurns(pair, untagged, size.bytes);
const warm = Math.ceil(size.iterations / 10 / side.window);
const windows = Math.ceil(size.iterations / side.window);
await exchange('ready');
if (side.server) {
  await serveWindows(turns, warm + windows);
} else {
  await repeat(warm, turns.sendWindow);
  const before = await collectGarbage();
  await repeat(windows, turns.sendWindow);
  const after = await collectGarbage();
  const growth = (what) => (after[what] - before[what]) / 1024;
  reportValue({
    loop: 'heap',
    size: size.bytes,
    iterations: windows * side.window,
    value: growth('heapUsed') + growth('external'),
    unit: 'KiB',
    heapUsed: growth('heapUsed'),
    external: growth('external'),
    rss: growth('rss'),
  });
}
await endExchange();
await pair.ep.close();
