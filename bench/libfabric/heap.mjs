// Measures the growth of the JavaScript heap over many sends, in KiB after garbage collection. The
// client reports it. A tenth of the operations serves as warm-up. Needs node --expose-gc.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { endExchange, exchange, repeat, reportValue } from '../side.mjs';
import { messageTurns, openMessagePair, serveWindows, untagged } from './messages.mjs';
import { side } from './runner.mjs';

async function collected() {
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
  const before = await collected();
  await repeat(windows, turns.sendWindow);
  const after = await collected();
  const grown = (what) => (after[what] - before[what]) / 1024;
  reportValue({
    loop: 'heap',
    size: size.bytes,
    iterations: windows * side.window,
    value: grown('heapUsed') + grown('external'),
    unit: 'KiB',
    heapUsed: grown('heapUsed'),
    external: grown('external'),
    rss: grown('rss'),
  });
}
await endExchange();
await pair.ep.close();
