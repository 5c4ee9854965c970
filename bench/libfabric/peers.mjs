// Measures the cost of a send and its receive with many peers in the address vector of both sides. The
// responding peer is inserted in the middle of --peers addresses without a listener. Runs over a
// provider with network addresses (--provider tcp), because shm's address vector has room for 256 peers.
import { endExchange, exchange, exchangeBytes, report, timed, warmUp } from '../side.mjs';
import { messageTurns, serveWindows, untagged } from './messages.mjs';
import { allocate, openEndpoint, side } from './runner.mjs';

const peers = Number(side.peers);

/** `address` (a sockaddr_in) with another host of 127.0.0.0/8. */
function loopbackAddress(address, host) {
  const other = Uint8Array.from(address);
  new DataView(other.buffer).setUint32(4, 0x7f010000 + host);
  return other;
}

const ep = await openEndpoint({ av: { count: peers } });
const peerAddress = await exchangeBytes(ep.address);
const others = Array.from({ length: peers - 1 }, (_, host) => loopbackAddress(peerAddress, host));
const half = Math.floor(others.length / 2);
for (const address of others.slice(0, half)) ep.av.insert(address);
const peer = ep.av.insert(peerAddress);
for (const address of others.slice(half)) ep.av.insert(address);

const pair = { ep, peer, buffer: await allocate(ep, side.largest), ack: await allocate(ep, 4) };
for (const size of side.sizes) {
  const turns = messageTurns(pair, untagged, size.bytes);
  const windows = Math.max(1, Math.floor(size.iterations / side.window));
  await exchange('ready');
  if (side.server) await serveWindows(turns, windows + warmUp(windows));
  else report('peers', size, windows * side.window, await timed(windows, turns.sendWindow));
}
await endExchange();
await ep.close();
