// The message rate and bandwidth loop of send.mjs and tsend.mjs, as in cpp/messages.h. The client sends
// a window and waits for its completions and for one small acknowledgement. The server posts the
// receives of the next window before it acknowledges.
import { endExchange, exchange, repeat, report, timed, warmUp } from '../side.mjs';
import { allocate, openPair, side, turnOf } from './runner.mjs';

export const untagged = {
  send: (ops, buffer, peer) => ops.send(buffer, peer),
  recv: (ops, buffer) => ops.recv(buffer, null),
};

/**
 * The turns of both sides, for messages of `bytes` bytes.
 * @param {{ send(ops, buffer, peer): void, recv(ops, buffer): void }} verbs
 */
export function messageTurns({ ep, peer, buffer, ack }, verbs, bytes) {
  const message = buffer.slice(0, bytes);
  const receives = (ops) => {
    for (let i = 0; i < side.window; i++) verbs.recv(ops, message);
  };
  return {
    sendWindow: turnOf(ep, (ops) => {
      verbs.recv(ops, ack);
      for (let i = 0; i < side.window; i++) verbs.send(ops, message, peer);
    }),
    receiveWindow: turnOf(ep, receives),
    receiveNextWindow: turnOf(ep, (ops) => {
      receives(ops);
      verbs.send(ops, ack, peer);
    }),
    acknowledge: turnOf(ep, (ops) => verbs.send(ops, ack, peer)),
  };
}

export async function openMessagePair() {
  const { ep, peer } = await openPair();
  return { ep, peer, buffer: await allocate(ep, side.largest), ack: await allocate(ep, 4) };
}

/** Receives `windows` windows on the server. */
export async function serveWindows(turns, windows) {
  await turns.receiveWindow();
  await repeat(windows - 1, turns.receiveNextWindow);
  await turns.acknowledge();
}

export async function runMessages(loop, verbs) {
  const pair = await openMessagePair();
  for (const size of side.sizes) {
    const turns = messageTurns(pair, verbs, size.bytes);
    const windows = Math.max(1, Math.floor(size.iterations / side.window));
    await exchange('ready');
    if (side.server) await serveWindows(turns, windows + warmUp(windows));
    else report(loop, size, windows * side.window, await timed(windows, turns.sendWindow));
  }
  await endExchange();
  await pair.ep.close();
}
