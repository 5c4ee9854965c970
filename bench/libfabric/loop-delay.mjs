// Measures the event-loop delay of a process while another process reads its memory as fast as it can.
// The delay is the time between two ticks of a 1 ms timer. An idle loop shows a little over 1 ms.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { endExchange, exchange, exchangeBytes, repeat, reportValue } from '../side.mjs';
import { allocate, openPair, side, turnOf } from './runner.mjs';

const { ep, peer } = await openPair();
const memory = await allocate(ep, side.largest);
const remote = ep.domain.remote(await exchangeBytes(memory.descriptor()));
const [size] = side.sizes;
await exchange('ready');
if (side.server) {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  await exchange('read');
  histogram.disable();
  reportValue({
    loop: 'loop-delay',
    size: size.bytes,
    value: histogram.percentile(99) / 1e6,
    unit: 'ms p99',
    p50: histogram.percentile(50) / 1e6,
    max: histogram.max / 1e6,
  });
} else {
  const window = turnOf(ep, (ops) => {
    for (let i = 0; i < side.window; i++) ops.read(memory, peer, remote);
  });
  await repeat(Math.ceil(size.iterations / side.window), window);
  await exchange('read');
}
await endExchange();
await ep.close();
