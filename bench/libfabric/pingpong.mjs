// Measures the half round trip of send. Both sides post the next receive before they send.
import { endExchange, exchange, repeat, report, timed, warmUp } from '../side.mjs';
import { allocate, openPair, side, turnOf } from './runner.mjs';

const { ep, peer } = await openPair();
const outgoing = await allocate(ep, side.largest);
const incoming = await allocate(ep, side.largest);

for (const size of side.sizes) {
  const out = outgoing.slice(0, size.bytes);
  const into = incoming.slice(0, size.bytes);
  const receive = turnOf(ep, (ops) => ops.recv(into, null));
  const send = turnOf(ep, (ops) => ops.send(out, peer));
  const receiveAndSend = turnOf(ep, (ops) => {
    ops.recv(into, null);
    ops.send(out, peer);
  });
  const turns = size.iterations;
  await exchange('ready');
  if (side.server) {
    await receive();
    await repeat(turns + warmUp(turns) - 1, receiveAndSend);
    await send();
  } else {
    report('pingpong', size, 2 * turns, await timed(turns, receiveAndSend));
  }
}
await endExchange();
await ep.close();
