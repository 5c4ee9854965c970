// Measures messages() with --messages copy or borrow: the server takes a window of messages from the stream, then acknowledges it.
// The client sends prepared batches, as in send.mjs.
import { endExchange, exchange, report, timed, warmUp } from '../side.mjs';
import { messageTurns, openMessagePair, untagged } from './messages.mjs';
import { side } from './runner.mjs';

const pair = await openMessagePair();
for (const size of side.sizes) {
  const windows = Math.max(1, Math.floor(size.iterations / side.window));
  const turns = messageTurns(pair, untagged, size.bytes);
  const borrow = side.messages === 'borrow';
  const options = { count: 2 * side.window, size: size.bytes, borrow };
  const stream = side.server ? pair.ep.messages(options) : undefined;
  await exchange('ready');
  if (stream === undefined) {
    report('stream', size, windows * side.window, await timed(windows, turns.sendWindow));
    continue;
  }
  for (let left = windows + warmUp(windows); left > 0; left--) {
    for (let i = 0; i < side.window; i++) await stream.next();
    await turns.acknowledge();
  }
  await stream.return();
}
await endExchange();
await pair.ep.close();
